"""Workers: who handles what, also over a lost connection."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from onemq.client.handler import Handler
from onemq.client.message import Message
from onemq.client.ordered import Lanes
from onemq.client.unit import Unit
from onemq.client.workers import Workers, workers_for


class Said:
    """Keeps what is said about messages."""

    def __init__(self) -> None:
        self.group = "g"
        self.words: list[tuple[str, int]] = []

    def _say(self, word: str, message: Message) -> None:
        if not message.is_settled:
            message.is_settled = True
            message.is_done = word == "ack"
            self.words.append((word, message.offset))

    def ack(self, message: Message) -> None:
        self._say("ack", message)

    def nack(self, message: Message, delay_ms: int | None, reason: str) -> None:
        self._say("nack", message)

    def reject(self, message: Message, reason: str) -> None:
        self._say("reject", message)

    def release(self, message: Message) -> None:
        self._say("release", message)

    def extend(self, message: Message) -> None: ...


async def no_commit(unit: Unit) -> None:
    raise AssertionError("nothing is to be committed here")


def message(said: Said, offset: int, era: int = 1) -> Message:
    return Message("t", 0, offset, 1, 0, b"k", b"", None, said, era, 1)


def handler_of(function: Callable[..., Any]) -> Handler:
    return Handler(function, "g", "auto", False, None, no_commit, None)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_plain_functions_are_called_by_threads_and_acknowledged(concurrency: int) -> None:
    said, threads = Said(), set[str]()

    async def scenario() -> None:
        workers = workers_for(handler_of(lambda _: threads.add(threading.current_thread().name)), concurrency, 1, None)
        workers.offer([message(said, offset) for offset in range(10)])
        await until(lambda: len(said.words) == 10)
        await workers.stop()

    run(scenario)
    assert sorted(said.words) == [("ack", offset) for offset in range(10)]
    assert all(name.startswith("onemq-handler-") for name in threads)


def test_a_function_with_an_annotation_gets_each_message() -> None:
    said, bodies = Said(), list[str]()

    def handle(body: str) -> None:
        bodies.append(body)

    async def scenario() -> None:
        workers = workers_for(handler_of(handle), 1, 1, None)
        workers.offer([message(said, offset) for offset in range(5)])
        await until(lambda: len(said.words) == 5)
        await workers.stop()

    run(scenario)
    assert bodies == [""] * 5


class Slow:
    """Async handlers that end when they are told to."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.going_on = asyncio.Event()

    async def handle(self, message: Message) -> None:
        self.begun.append(message.offset)
        await self.going_on.wait()


def started(slow: Slow, concurrency: int = 1, lanes: Lanes | None = None) -> Workers:
    return workers_for(handler_of(slow.handle), concurrency, 1, lanes)


def test_stopping_waits_for_what_is_in_hand_and_gives_back_the_rest() -> None:
    said = Said()

    async def scenario() -> None:
        slow = Slow()
        workers = started(slow)
        workers.offer([message(said, offset) for offset in range(3)])
        await until(lambda: slow.begun == [0])
        stopping = asyncio.create_task(workers.stop())
        await until(lambda: len(said.words) == 2)
        workers.offer([message(said, 3)])
        assert not stopping.done()
        slow.going_on.set()
        await stopping

    run(scenario)
    assert said.words == [("release", 1), ("release", 2), ("release", 3), ("ack", 0)]


def test_what_waited_when_the_connection_was_lost_is_forgotten() -> None:
    said = Said()

    async def scenario() -> None:
        slow = Slow()
        workers = started(slow)
        workers.offer([message(said, 0), message(said, 1)])
        await until(lambda: slow.begun == [0])
        workers.lost(2)
        slow.going_on.set()
        workers.offer([message(said, 1, era=3)])
        await until(lambda: len(said.words) == 2)
        assert slow.begun == [0, 1]
        await workers.stop()

    run(scenario)
    assert said.words == [("ack", 0), ("ack", 1)]


@pytest.mark.parametrize("ends", ["before it comes again", "after it comes again"])
def test_what_a_handler_had_when_the_connection_was_lost_is_not_handled_twice(ends: str) -> None:
    said = Said()

    async def scenario() -> None:
        slow = Slow()
        workers = started(slow, concurrency=2)
        workers.offer([message(said, 0)])
        await until(lambda: slow.begun == [0])
        workers.lost(2)
        if ends.startswith("before"):
            slow.going_on.set()
            await until(lambda: said.words == [("ack", 0)])
        workers.offer([message(said, 0, era=3)])
        slow.going_on.set()
        await until(lambda: ("ack", 0) in said.words)
        await workers.stop()
        assert slow.begun == [0]

    run(scenario)


def test_what_failed_in_a_batch_that_outlives_its_connection_is_handled_again() -> None:
    """The batch still waits for its commit when the message comes again by the next connection."""
    said, seen, going_on = Said(), [], asyncio.Event()

    async def handle(messages: list[Message]) -> None:
        seen.append([(each.offset, each.era) for each in messages])
        if len(seen) == 1:
            messages[0].nack()
            await going_on.wait()

    async def scenario() -> None:
        workers = workers_for(Handler(handle, "g", "auto", True, None, no_commit, None), 2, 10, None)
        workers.offer([message(said, 0), message(said, 1)])
        await until(lambda: len(seen) == 1)
        workers.lost(2)
        workers.offer([message(said, 0, era=3), message(said, 1, era=3)])
        await until(lambda: len(seen) == 2)
        going_on.set()
        await until(lambda: ("ack", 1) in said.words)
        await workers.stop()

    run(scenario)
    assert seen == [[(0, 1), (1, 1)], [(0, 3)]]
    assert said.words == [("nack", 0), ("ack", 0), ("ack", 1)]


def test_an_ordered_message_waits_for_the_one_before_it() -> None:
    said = Said()

    async def scenario() -> None:
        slow = Slow()
        workers = started(slow, concurrency=4, lanes=Lanes("key"))
        workers.offer([message(said, 0), message(said, 1)])
        await until(lambda: slow.begun == [0])
        await asyncio.sleep(0)
        assert slow.begun == [0]
        slow.going_on.set()
        await until(lambda: len(said.words) == 2)
        await workers.stop()

    run(scenario)
    assert said.words == [("ack", 0), ("ack", 1)]
