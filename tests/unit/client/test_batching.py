"""Batching: what is gathered, sent, and sent again. The broker is played by the test."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hiredis import Reader, ReplyError

from onemq.client.batching import Batching
from onemq.client.connection import Answer, Word, packed
from onemq.client.receipt import Pending
from onemq.errors import Disconnected, TimedOut, TooLarge
from onemq.log.batch import BatchHeader, check_ready_made


class FakeConnection:
    """Keeps what is asked; the test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[bytes], Answer]] = []

    def ask(self, words: tuple[Word, ...], answer: Answer) -> None:
        self.ask_packed(packed(words), answer)

    def ask_packed(self, data: bytes, answer: Answer) -> None:
        reader = Reader()
        reader.feed(data)
        self.asked.append((reader.gets(), answer))

    def headers(self) -> list[BatchHeader]:
        return [check_ready_made(words[3]) for words, _ in self.asked]

    def answer(self, *replies: Any) -> None:
        asked, self.asked = self.asked[: len(replies)], self.asked[len(replies) :]
        for (_, answer), reply in zip(asked, replies, strict=True):
            answer(reply)


class FakeLink:
    """One connection, until it is lost."""

    def __init__(self, partitions: int) -> None:
        self.connection: FakeConnection | None = FakeConnection()
        self.renewed = 0
        self.producers = 0
        self._partitions = partitions

    async def insist(self, *words: Word, timeout: float) -> dict[bytes, Any]:
        if words[0] == "MQ.PRODUCER":
            self.producers += 1
            return {b"id": self.producers, b"epoch": 0}
        return {b"id": 1, b"partitions": self._partitions, b"max_bytes": 4 << 20}

    def renew(self) -> None:
        self.renewed += 1


Scenario = Callable[[Batching, FakeLink], Coroutine[Any, Any, None]]


def run(scenario: Scenario, partitions: int = 1, timeout: float = 10, retries: int = 2) -> None:
    async def main() -> None:
        link = FakeLink(partitions)
        batching = Batching(link, timeout, retries, 1000)  # type: ignore[arg-type]
        await batching.find_route("t")
        await scenario(batching, link)

    asyncio.run(asyncio.wait_for(main(), 30))


def add(batching: Batching, count: int, number: int = 0) -> list[Pending]:
    route = batching.route("t")
    assert route is not None
    return [batching.add(route, number, None, b"x", b"\x00") for _ in range(count)]


async def turn() -> None:
    await asyncio.sleep(0)


def offset(value: int) -> dict[bytes, int]:
    return {b"partition": 0, b"offset": value, b"count": 1, b"topic_id": 1, b"partitions": 1}


def test_what_comes_in_one_turn_is_one_batch_for_each_partition() -> None:
    async def scenario(batching: Batching, link: FakeLink) -> None:
        pending = add(batching, 100) + add(batching, 7, number=1)
        await turn()
        assert link.connection is not None
        assert [words[:3] for words, _ in link.connection.asked] == [
            [b"MQ.APPEND", b"t", b"0"],
            [b"MQ.APPEND", b"t", b"1"],
        ]
        assert [header.record_count for header in link.connection.headers()] == [100, 7]
        link.connection.answer(offset(50), offset(3))
        receipts = [await each for each in pending]
        assert [receipt.offset for receipt in receipts] == [*range(50, 150), *range(3, 10)]

    run(scenario, partitions=2)


def test_unanswered_batches_are_sent_again_as_they_were() -> None:
    async def scenario(batching: Batching, link: FakeLink) -> None:
        pending = add(batching, 2)
        await turn()
        pending += add(batching, 3)
        await turn()
        first = link.connection
        assert first is not None
        sent = [words for words, _ in first.asked]
        link.connection = None
        first.answer(Disconnected("lost"), Disconnected("lost"))
        pending += add(batching, 1)
        await turn()
        second = FakeConnection()
        await batching.resume(second)  # type: ignore[arg-type]
        link.connection = second
        await turn()
        assert [words for words, _ in second.asked[:2]] == sent
        assert [header.base_sequence for header in second.headers()] == [0, 2, 5]
        second.answer(offset(0), offset(2), offset(5))
        assert [(await each).offset for each in pending] == list(range(6))

    run(scenario)


def test_a_refused_batch_fails_alone() -> None:
    async def scenario(batching: Batching, link: FakeLink) -> None:
        assert link.connection is not None
        pending = []
        for _ in range(3):
            pending += add(batching, 1)
            await turn()
        link.connection.answer(offset(0), ReplyError("TOOLARGE too much"), ReplyError("OUTOFORDER 2 where 1 is next"))
        with pytest.raises(TooLarge):
            await pending[1]
        await turn()
        assert [header.base_sequence for header in link.connection.headers()] == [1]
        link.connection.answer(offset(1))
        assert ((await pending[0]).offset, (await pending[2]).offset) == (0, 1)

    run(scenario)


def test_a_producer_that_the_broker_forgot_gets_a_new_name() -> None:
    async def scenario(batching: Batching, link: FakeLink) -> None:
        assert link.connection is not None
        (pending,) = add(batching, 1)
        await turn()
        link.connection.answer(ReplyError("NOTFOUND producer 1 is not known"))
        while not link.connection.asked:
            await turn()
        assert [(header.producer_id, header.base_sequence) for header in link.connection.headers()] == [(2, 0)]
        link.connection.answer(offset(9))
        assert (await pending).offset == 9

    run(scenario)


def test_a_late_answer_costs_the_connection_and_too_late_is_an_error() -> None:
    async def scenario(batching: Batching, link: FakeLink) -> None:
        (pending,) = add(batching, 1)
        with pytest.raises(TimedOut):
            await pending
        assert link.renewed >= 1
        assert link.connection is not None
        link.connection.answer(offset(0))  # too late: nobody minds
        add(batching, 1)
        while len(link.connection.asked) < 1:
            await turn()
        (header,) = link.connection.headers()
        assert header.producer_id == 2, "nobody knows what the broker has of the first one"

    run(scenario, timeout=0.02, retries=1)


def test_senders_wait_while_there_is_no_room() -> None:
    async def scenario(batching: Batching, link: FakeLink) -> None:
        add(batching, 100)
        assert batching.is_full
        waiting = asyncio.create_task(batching.room())
        await turn()
        await turn()
        assert not waiting.done()
        assert link.connection is not None
        link.connection.answer(offset(0))
        await waiting
        await batching.flushed()

    run(scenario)
