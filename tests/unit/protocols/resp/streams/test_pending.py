"""Pending entries by their ids, as XPENDING, XAUTOCLAIM and XREADGROUP list them, some of them deleted or trimmed."""

from random import Random
from typing import Any

import pytest

from onemq.protocols.resp.service import RespService
from tests.unit.core.broker import Broker, in_memory
from tests.unit.protocols.resp.fakes import Client
from tests.unit.protocols.resp.streams.test_lost_entries import FACTS

ENTRIES = 60


class Told:
    """Commands to a broker, each in a turn of its own."""

    def __init__(self) -> None:
        self.broker: Broker = in_memory()
        self.client = Client(RespService(self.broker.core, FACTS))

    def __call__(self, line: str) -> Any:
        with self.broker.turn():
            return self.client.ask(*line.split())


@pytest.fixture
def tell() -> Told:
    """A stream with the entries 10-0, 20-0, ..., and a group that has not read them."""
    tell = Told()
    for number in range(1, ENTRIES + 1):
        tell(f"XADD s {number * 10}-0 f v")
    tell("XGROUP CREATE s g 0")
    return tell


def times(ids: list[bytes]) -> list[int]:
    return [int(id.partition(b"-")[0]) for id in ids]


def thinned(tell: Told, random: Random) -> tuple[list[int], set[int]]:
    """Makes entries pending and removes some of them; returns what is pending, and which of it is still there."""
    for consumer in "abc":
        tell(f"XREADGROUP GROUP g {consumer} COUNT {random.randrange(1, ENTRIES // 2)} STREAMS s >")
    read = [10 * number for number in range(1, ENTRIES + 1)][: tell.broker.core.groups.get("s", "g").cursors[0].next]
    done = {each for each in read if random.random() < 0.2}
    start = random.choice([0, 0, random.randrange(10 * ENTRIES)])
    gap = random.randrange(10 * ENTRIES)
    gone = {each for each in read if each < start or gap <= each < gap + 150 or random.random() < 0.1}
    for each in done:
        tell(f"XACK s g {each}-0")
    for each in gone:
        tell(f"XDEL s {each}-0")
    tell(f"XTRIM s MINID {start}-0")
    pending = [each for each in read if each not in done]
    return pending, set(pending) - gone


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_of_ids_is_listed_whatever_was_removed(tell: Told, seed: int) -> None:
    random = Random(seed)
    pending, _ = thinned(tell, random)
    for _ in range(30):
        first, last = (random.randrange(10 * ENTRIES + 20) for _ in range(2))
        found = tell(f"XPENDING s g {first} {last} 1000")
        assert times([row[0] for row in found]) == [each for each in pending if first <= each <= last]
    assert times([row[0] for row in tell("XPENDING s g - + 7")]) == pending[:7]


@pytest.mark.parametrize("seed", range(20))
def test_history_goes_on_after_an_id(tell: Told, seed: int) -> None:
    random = Random(seed)
    thinned(tell, random)
    own = times([row[0] for row in tell("XPENDING s g - + 1000 b")])
    for _ in range(10):
        after = random.randrange(10 * ENTRIES + 20)
        found = tell(f"XREADGROUP GROUP g b COUNT 5 STREAMS s {after}-0")[0][1]
        assert times([id for id, _ in found]) == [each for each in own if each > after][:5]


@pytest.mark.parametrize("seed", range(20))
def test_claiming_page_by_page_comes_to_each_once(tell: Told, seed: int) -> None:
    pending, there = thinned(tell, Random(seed))
    claimed: list[int] = []
    gone: list[int] = []
    place = b"0-0"
    while True:
        place, entries, ids = tell(f"XAUTOCLAIM s g bob 0 {place.decode()} COUNT 4 JUSTID")
        claimed += times(entries)
        gone += times(ids)
        if place == b"0-0":
            break
    assert claimed == sorted(there)
    assert gone == sorted(set(pending) - there)


def test_history_buries_no_more_than_it_comes_to(tell: Told) -> None:
    tell("XPOLICY s MAXDELIVERIES 1")
    tell("XREADGROUP GROUP g a COUNT 2 STREAMS s >")
    tell("XCLAIM s g a 0 10-0 RETRYCOUNT 0 JUSTID")
    assert tell("XREADGROUP GROUP g a COUNT 1 STREAMS s 0")[0][1] == [[b"10-0", [b"f", b"v"]]]
    assert len(tell("XPENDING s g - + 10")) == 2


# Entries that wait for their next attempt


def refused(tell: Told) -> None:
    """Entry 10-0 failed, and waits for an hour."""
    tell("XPOLICY s BACKOFF 1h")
    tell("XREADGROUP GROUP g a COUNT 1 STREAMS s >")
    assert tell("XNACK s g FAIL IDS 1 10-0") == 1


CLAIMS = ["XAUTOCLAIM s g bob {} 0 JUSTID", "XCLAIM s g bob {} 10-0 JUSTID", "XPENDING s g IDLE {} - + 10"]


def listed(tell: Told, command: str, idle_ms: int) -> bool:
    """Whether a command gets entry 10-0."""
    return "10-0" in str(tell(command.format(idle_ms)))


@pytest.mark.parametrize("command", CLAIMS)
def test_what_waits_is_idle_since_it_was_given_back(tell: Told, command: str) -> None:
    refused(tell)
    assert not listed(tell, command, 60_000)
    tell.broker.pass_ms(59_999)
    assert not listed(tell, command, 60_000)
    tell.broker.pass_ms(1)
    assert listed(tell, command, 60_000)


@pytest.mark.parametrize("command", CLAIMS)
def test_what_waits_can_be_claimed_at_once_without_a_least_idle_time(tell: Told, command: str) -> None:
    refused(tell)
    assert listed(tell, command, 0)


@pytest.mark.parametrize("command", CLAIMS)
def test_what_has_waited_can_be_claimed_whatever_the_least_idle_time(tell: Told, command: str) -> None:
    refused(tell)
    tell.broker.pass_ms(3_600_000)
    assert listed(tell, command, 7_200_000)


@pytest.mark.parametrize("command", CLAIMS)
def test_what_was_given_up_without_a_policy_can_be_claimed_at_once(tell: Told, command: str) -> None:
    tell("XREADGROUP GROUP g a COUNT 1 STREAMS s >")
    assert tell("XNACK s g FAIL IDS 1 10-0") == 1
    assert listed(tell, command, 60_000)


def test_reading_with_claim_waits_until_its_time_comes(tell: Told) -> None:
    refused(tell)
    tell("XREADGROUP GROUP g a STREAMS s >")
    assert tell("XREADGROUP GROUP g bob CLAIM 7200000 STREAMS s >") is None
    tell("XREADGROUP GROUP g bob BLOCK 10000000 CLAIM 7200000 STREAMS s >")
    tell.broker.pass_ms(3_599_999)
    assert tell.client.peer.sent == []
    tell.broker.pass_ms(1)
    assert b"10-0" in b"".join(tell.client.peer.sent)
    assert b"20-0" not in b"".join(tell.client.peer.sent)


@pytest.mark.parametrize("words", ["XNACK s g FAIL IDS {count} {ids}", "XCLAIM s g bob 0 {ids} JUSTID"])
def test_entries_that_were_handed_out_just_now_are_not_looked_up(reads: list[int], words: str) -> None:
    """Each would be looked for in the batch that holds it, which may be a large one."""
    tell = Told()
    with tell.broker.turn():
        ids = [tell.client.ask("XADD", "s", "*", "f", "v").decode() for _ in range(100)]
    tell("XGROUP CREATE s g 0")
    tell("XREADGROUP GROUP g a STREAMS s >")
    del reads[:]
    reply = tell(words.format(count=len(ids), ids=" ".join(ids)))
    assert reply == 100 or [id.decode() for id in reply] == ids
    assert len(reads) <= 1
