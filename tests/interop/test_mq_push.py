"""MQ.SUBSCRIBE by raw RESP3 connections, against a real broker: pushes, credit, slow readers, and who gets what."""

import socket
import time
from collections.abc import Iterator
from typing import Any, Self

import hiredis
import pytest

from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS
from tests.unit.protocols.resp.fakes import encode

NOTHING_YET = False


class Wire:
    """A connection that speaks RESP3; pushes are kept apart from replies."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._reader = hiredis.Reader()
        self.pushes: list[Any] = []
        self("HELLO", "3")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, *words: str | bytes) -> None:
        self._socket.sendall(encode(*words))

    def reply(self) -> Any:
        """The next reply."""
        while isinstance(frame := self._frame(), hiredis.PushNotification):
            self.pushes.append(frame)
        return frame

    def __call__(self, *words: str | bytes) -> Any:
        self.send(*words)
        return self.reply()

    def push(self) -> Any:
        """The next push."""
        while not self.pushes:
            frame = self._frame()
            assert isinstance(frame, hiredis.PushNotification), frame
            self.pushes.append(frame)
        return self.pushes.pop(0)

    def messages(self) -> list[tuple[int, bytes]]:
        """(offset, body) of the next push."""
        items = self.push()[2]
        return [(items[at + 1], items[at + 5]) for at in range(0, len(items), 7)]

    def _frame(self) -> Any:
        while (frame := self._reader.gets()) is NOTHING_YET:
            data = self._socket.recv(1 << 20)
            assert data, "the broker closed the connection"
            self._reader.feed(data)
        return frame


@pytest.fixture
def wires(onemq_port: int) -> Iterator[tuple[Wire, Wire]]:
    with Wire(onemq_port) as one, Wire(onemq_port) as other:
        one("FLUSHALL")
        yield one, other


def batch(count: int, size: int = 100) -> bytes:
    builder = BatchBuilder(0, 0)
    for number in range(count):
        builder.add(0, None, b"%d" % number + b"." * size, NO_HEADERS)
    return builder.seal()


def test_a_stream_of_messages_is_pushed_and_acknowledged_in_runs(wires: tuple[Wire, Wire]) -> None:
    consumer, producer = wires
    consumer("MQ.SUBSCRIBE", "t", "g", "CREDIT", "700")
    for _ in range(20):
        producer.send("MQ.APPEND", "t", "0", batch(500))
    expected = 0
    while expected < 10_000:
        got = consumer.messages()
        assert [offset for offset, _ in got] == list(range(expected, expected + len(got)))
        expected += len(got)
        assert consumer("MQ.ACK", "t", "g", f"0:{got[0][0]}-{got[-1][0]}") == len(got)
    info = producer_info(consumer)
    assert (info[b"lag"], info[b"in_flight"]) == (0, 0)


def producer_info(wire: Wire) -> dict[bytes, Any]:
    found: dict[bytes, Any] = wire("MQ.GROUP", "INFO", "t", "g")
    return found


def test_members_share_and_a_dead_one_is_replaced(wires: tuple[Wire, Wire], onemq_port: int) -> None:
    one, other = wires
    one("MQ.SUBSCRIBE", "t", "g", "CREDIT", "3")
    other("MQ.SUBSCRIBE", "t", "g", "CREDIT", "3")
    with Wire(onemq_port) as producer:
        producer("MQ.APPEND", "t", "0", batch(6))
    first, second = one.messages(), other.messages()
    assert sorted(offset for offset, _ in first + second) == list(range(6))
    other._socket.close()
    one("MQ.CREDIT", "1", "10")
    again: list[int] = []
    while len(again) < 3:
        again += [offset for offset, _ in one.messages()]
    assert sorted(again) == sorted(offset for offset, _ in second)


def test_who_does_not_read_is_given_no_more_than_fits(wires: tuple[Wire, Wire], onemq_port: int) -> None:
    slow, other = wires
    slow("MQ.SUBSCRIBE", "t", "g", "CREDIT", "1000000", "MEMBER", "slow")
    total = 40 * 500
    for _ in range(40):
        other("MQ.APPEND", "t", "0", batch(500, 5_000))
    info = producer_info(other)
    held = info[b"in_flight"]
    assert 0 < held < total, "most of 100 MB waits in the log, not in memory"
    received = 0
    while received < total:
        received += len(slow.messages())
    assert received == total


def test_a_subscription_outlives_nothing_it_depends_on(wires: tuple[Wire, Wire]) -> None:
    one, other = wires
    one("MQ.SUBSCRIBE", "t", "g")
    other("MQ.TOPIC", "DELETE", "t")
    assert list(one.push()) == [b"mq.ended", 1, b"the group is gone"]


def test_a_transaction_is_checked_back(wires: tuple[Wire, Wire], onemq_port: int) -> None:
    listener, other = wires
    listener("MQ.TX", "LISTEN", "shop")
    with Wire(onemq_port) as producer:
        producer("MQ.SEND", "t", "x", "TRANSACTION", "order-1", "GROUP", "shop", "CHECKAFTER", "100ms")
    check = listener.push()
    assert list(check[:4]) == [b"mq.check", b"shop", b"order-1", 1]
    assert check[4][b"body"] == b"x"
    assert listener("MQ.TX", "COMMIT", "order-1") == 1
    deadline = time.monotonic() + 20
    while not (got := other("MQ.RECEIVE", "t", "g", "WAIT", "1s")):
        assert time.monotonic() < deadline
    assert got[0][b"body"] == b"x"
