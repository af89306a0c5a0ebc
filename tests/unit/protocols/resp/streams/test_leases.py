"""Deliveries of a lost connection where nothing can be written just then: they come back once that is possible."""

import errno
from random import Random

import pytest

from onemq.protocols.resp.service import RespService
from tests.sim.disk import SimDisk
from tests.unit.core.broker import Broker, in_flight
from tests.unit.protocols.resp.fakes import Client
from tests.unit.protocols.resp.streams.test_lost_entries import FACTS


class Two:
    """Two consumers, alice and bob, of a stream whose deliveries go back with the connection; alice has an entry."""

    def __init__(self) -> None:
        self.disk = SimDisk(Random(0))
        self.broker = Broker(self.disk)
        self.service = RespService(self.broker.core, FACTS)
        self.alice, self.bob = Client(self.service), Client(self.service)
        for line in ("XADD s 1-0 f v", "XGROUP CREATE s g 0", "XPOLICY s LEASE CONNECTION"):
            self.tell(self.bob, line)
        assert self.read(self.alice, "alice")

    def tell(self, client: Client, line: str) -> object:
        with self.broker.turn():
            return client.ask(*line.split())

    def read(self, client: Client, consumer: str) -> object:
        return self.tell(client, f"XREADGROUP GROUP g {consumer} STREAMS s >")

    def fail(self) -> None:
        """The turn under way finds no room; nothing can be written until the disk was looked at again."""
        self.disk.fail_next("append", errno.ENOSPC)
        assert self.broker.end() is not None
        self.broker.core.reset()
        assert self.broker.core.stage.refusal is not None

    def pass_seconds(self) -> None:
        for _ in range(3):
            self.broker.pass_ms(1_000)
        assert self.broker.core.stage.refusal is None

    def owners(self) -> dict[int, tuple[str | None, int]]:
        return in_flight(self.broker.core.groups.get("s", "g"))


@pytest.fixture
def two() -> Two:
    return Two()


def test_a_connection_that_is_lost_while_nothing_can_be_written(two: Two) -> None:
    two.broker.core.tick(two.broker.now_ms)
    two.bob.ask("XADD", "t", "*", "f", "v")
    two.fail()
    two.alice.session.lost()
    assert two.owners() == {0: ("alice", 1)}
    two.pass_seconds()
    assert two.owners() == {0: (None, 1)}
    assert two.read(two.bob, "bob")
    assert two.owners() == {0: ("bob", 2)}


def test_a_connection_whose_end_was_not_stored(two: Two) -> None:
    core = two.broker.core
    core.tick(two.broker.now_ms)
    two.alice.session.lost()
    assert two.owners() == {0: (None, 1)}
    two.fail()
    assert two.owners() == {0: ("alice", 1)}
    two.pass_seconds()
    assert two.read(two.bob, "bob")
    assert two.owners() == {0: ("bob", 2)}


def test_who_connects_again_under_the_name_keeps_what_it_gets(two: Two) -> None:
    core = two.broker.core
    core.tick(two.broker.now_ms)
    two.bob.ask("XADD", "t", "*", "f", "v")
    two.fail()
    two.alice.session.lost()
    again = Client(two.service)
    core.stage.refusal = None  # in this very moment, before anybody looked again
    core.log.try_again()
    two.tell(two.bob, "XADD s 2-0 f v")
    assert two.read(again, "alice")
    both = {0: ("alice", 2), 1: ("alice", 1)}
    assert two.owners() == both
    two.pass_seconds()
    assert two.owners() == both


def test_an_end_that_was_stored_is_none_of_the_next_connection(two: Two) -> None:
    with two.broker.turn():
        two.alice.session.lost()
    again = Client(two.service)
    assert two.read(again, "alice")
    two.pass_seconds()
    assert two.owners() == {0: ("alice", 2)}
