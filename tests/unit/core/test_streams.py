"""Streams survive: a snapshot and the entries of the log lead to the same state, and go on in the same way."""

import os
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import hiredis
import msgspec
import pytest

from onemq.core.bitmap import Bitmap
from onemq.core.core import Core
from onemq.log.engine import Done, Replay, WriteSet
from onemq.log.memory import MemoryLog
from onemq.protocols.resp.service import RespService, ServerFacts
from tests.crash.stream_commands import MoreCommands, everything, stable
from tests.interop.streams_random import Step
from tests.sim.fingerprint import first_difference
from tests.unit.protocols.resp.fakes import Client

FACTS = ServerFacts("r" * 40, 77, 0, 6379, "", 50, lambda: 1, lambda: 1)
NOW_MS = 1_700_000_000_000
SEEDS = int(os.environ.get("STREAM_SEEDS", "10"))
FIRST_SEED = int(os.environ.get("STREAM_FIRST_SEED", "1"))


class KeepingLog(MemoryLog):
    """A log in memory that can be replayed from any snapshot."""

    def __init__(self) -> None:
        super().__init__()
        self.state: bytes | None = None
        self.sets: list[bytes] = []

    def append(self, writes: WriteSet, done: Done) -> None:
        self.sets.append(msgspec.msgpack.encode(writes.entries))
        super().append(writes, done)

    def replay(self) -> Replay:
        entries: Iterator[list[list[Any]]] = map(msgspec.msgpack.decode, self.sets)
        return Replay(self.state, entries)


class Life:
    """A core, the clients' view of it, and its clock."""

    def __init__(self, log: KeepingLog, now_ms: int = NOW_MS) -> None:
        self.log = log
        self.now_ms = now_ms
        self.core = Core(log)
        self.core.recover(now_ms)
        self.client = Client(RespService(self.core, FACTS))

    def step(self, step: Step, now_ms: int) -> list[Any]:
        """The replies to a command, or to several that are one transaction, in a turn of their own."""
        self.now_ms = now_ms
        self.core.tick(now_ms)
        if len(step) == 1:
            answers = [self.client.ask(*step[0])]
        else:
            queued = [self.client.ask(*words) for words in (("MULTI",), *step)]
            answer = self.client.ask("EXEC")
            answers = answer if isinstance(answer, list) else queued[1:]
        errors: list[Any] = []
        self.core.settle()
        self.core.flush(errors.append)
        assert errors == [None]
        return [_comparable(answer) for answer in answers]

    def copy(self, state: bytes | None, sets: list[bytes]) -> "Life":
        """Another one that starts on the same messages, from a snapshot and the entries after it."""
        log = deepcopy(self.log)
        log.state, log.sets = state, list(sets)
        return Life(log, self.now_ms)

    def seen(self) -> dict[bytes, Any]:
        return everything(lambda *words: self.client.ask(*map(_word, words)))

    def dump(self) -> Any:
        """The state as a snapshot keeps it, in an order of its own and without what need not be the same."""
        _, topics, groups, producers, schedule, keys, streams, *_ = msgspec.msgpack.decode(b"".join(self.core.dump()))
        for *_, members, cursors, _ in groups[1]:
            members.sort()
            for cursor in cursors:
                cursor[1] = sorted([offset, *rest] for *rest, offsets in cursor[1] for offset in offsets)
        for stream in streams[0]:
            if stream[4] is not None:
                deleted = Bitmap.load(stream[4])
                stream[4] = (deleted.high, deleted.ranges_live(1_000_000))
        for window in streams[3]:
            window[4] = "duplicates"
            window[5].sort()
        return {
            "topics": [topics[0], sorted(topics[1])],
            "groups": [groups[0], sorted(groups[1])],
            "producers": producers,
            "schedule": schedule,
            "values": dict(zip(keys["keys"], keys["values"], strict=True)),
            "expiry": dict(zip(keys["expiring"], keys["expires_at_ms"], strict=True)),
            "streams": [sorted(part) for part in streams],
        }


def _comparable(answer: Any) -> Any:
    return str(answer) if isinstance(answer, hiredis.ReplyError) else stable(answer)


def _word(word: object) -> bytes | str:
    return word if isinstance(word, bytes) else str(word)


def check_alike(lives: dict[str, Life], seed: int) -> None:
    """All have the same state, and clients see the same."""
    (_, first), *others = lives.items()
    seen, dump = first.seen(), first.dump()
    for name, other in others:
        difference = first_difference(other.seen(), seen) or first_difference(other.dump(), dump)
        assert difference is None, f"seed {seed}: {name} differs at {difference}"


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_a_snapshot_and_the_entries_lead_to_the_same_state_and_go_on_alike(seed: int) -> None:
    random, commands, now_ms = Random(seed), MoreCommands(seed), NOW_MS
    live = Life(KeepingLog())
    snapshot, place = None, 0
    steps = commands.steps(random.choice([40, 150, 300]))
    snapshot_at = random.randrange(len(steps))
    for number, step in enumerate(steps):
        now_ms += random.choice([0, 0, 1, 50])
        answers = live.step(step, now_ms)
        for words, answer in zip(step, answers, strict=True):
            commands.learn(words, answer)
        if number == snapshot_at:
            snapshot, place = b"".join(live.core.dump()), len(live.log.sets)
    lives = {
        "live": live,
        "replayed": live.copy(None, live.log.sets),
        "from a snapshot": live.copy(b"".join(live.core.dump()), []),
        "from a snapshot and the entries after it": live.copy(snapshot, live.log.sets[place:]),
    }
    check_alike(lives, seed)
    for step in commands.steps(100):
        now_ms += random.choice([0, 0, 1, 50])
        expected = live.step(step, now_ms)
        for name, other in lives.items():
            if other is not live:
                difference = first_difference(other.step(step, now_ms), expected)
                assert difference is None, f"seed {seed}: {name} answers differently to {step}: {difference}"
    check_alike(lives, seed)
