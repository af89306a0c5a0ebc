"""What is told to the broker about messages, and how little of it is said twice."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from onemq.client.connection import Answer, Word
from onemq.client.message import Message
from onemq.client.settlements import Settlements, receipts_in_runs
from onemq.errors import Disconnected


class FakeLink:
    """Keeps what is asked; the test answers."""

    def __init__(self) -> None:
        self.connection: FakeLink | None = self
        self.is_closed = False
        self.asked: list[tuple[tuple[Word, ...], Answer]] = []

    def ask(self, words: tuple[Word, ...], answer: Answer) -> None:
        self.asked.append((words, answer))

    @property
    def words(self) -> list[tuple[Word, ...]]:
        return [words for words, _ in self.asked]


def run(scenario: Callable[[FakeLink, Settlements], Coroutine[Any, Any, None]], late_count: int = 0) -> FakeLink:
    link = FakeLink()

    async def main() -> None:
        await scenario(link, Settlements("t", "g", link, late_count))  # type: ignore[arg-type]

    asyncio.run(main())
    return link


def message(settlements: Settlements | None, offset: int, partition: int = 0) -> Message:
    return Message("t", partition, offset, 1, 0, None, b"", None, settlements, 1, 1)


async def turn() -> None:
    await asyncio.sleep(0)


def test_receipts_are_told_in_runs() -> None:
    places = [(0, 1), (0, 2), (0, 3), (0, 5), (1, 6), (1, 7), (0, 8)]
    messages = [message(None, offset, partition) for partition, offset in places]
    assert list(receipts_in_runs(messages)) == ["0:1-3", "0:5", "1:6-7", "0:8"]
    assert list(receipts_in_runs([])) == []


def test_all_acknowledgements_of_a_turn_are_one_request() -> None:
    async def scenario(link: FakeLink, settlements: Settlements) -> None:
        for offset in range(100):
            message(settlements, offset).ack()
        assert link.asked == []
        await turn()

    assert run(scenario).words == [("MQ.ACK", "t", "g", "0:0-99")]


def test_only_the_first_word_about_a_message_counts() -> None:
    async def scenario(link: FakeLink, settlements: Settlements) -> None:
        one = message(settlements, 0)
        one.ack()
        one.nack()
        one.reject("x")
        await turn()

    assert run(scenario).words == [("MQ.ACK", "t", "g", "0:0")]


def test_failures_of_a_kind_are_told_together() -> None:
    async def scenario(link: FakeLink, settlements: Settlements) -> None:
        message(settlements, 0).nack(delay="5s", reason="no")
        message(settlements, 1).nack(delay="5s", reason="no")
        message(settlements, 2).reject("never")
        message(settlements, 3).release()
        await turn()

    assert run(scenario).words == [
        ("MQ.NACK", "t", "g", "0:0-1", "DELAY", 5000, "REASON", "no"),
        ("MQ.REJECT", "t", "g", "0:2", "REASON", "never"),
        ("MQ.RELEASE", "t", "g", "0:3"),
    ]


def test_lazy_acknowledgements_wait_for_their_number() -> None:
    async def scenario(link: FakeLink, settlements: Settlements) -> None:
        for offset in range(9):
            message(settlements, offset).ack()
        await turn()
        assert link.asked == []
        message(settlements, 9).ack()
        await turn()

    assert run(scenario, late_count=10).words == [("MQ.ACK", "t", "g", "0:0-9")]


def test_what_was_not_confirmed_is_told_again_on_the_next_connection() -> None:
    async def scenario(link: FakeLink, settlements: Settlements) -> None:
        message(settlements, 0).ack()
        message(settlements, 1).nack()
        await turn()
        for _, answer in link.asked:
            answer(Disconnected("lost"))
        link.connection = None
        message(settlements, 2).ack()
        message(settlements, 3).release()
        await turn()
        link.asked.clear()
        link.connection = link
        settlements.resume(link)  # type: ignore[arg-type]

    # The broker gave back by itself what was not acknowledged.
    assert run(scenario).words == [("MQ.ACK", "t", "g", "0:0"), ("MQ.ACK", "t", "g", "0:2")]


def test_told_waits_for_the_confirmation() -> None:
    async def scenario(link: FakeLink, settlements: Settlements) -> None:
        message(settlements, 0).ack()
        waiting = asyncio.create_task(settlements.told())
        await turn()
        await turn()
        assert not waiting.done()
        link.asked[0][1](1)
        await asyncio.wait_for(waiting, 5)

    run(scenario)
