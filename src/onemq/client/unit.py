"""A unit: messages to send and messages to acknowledge that become true together, or not at all."""

import asyncio
from typing import Any, Unpack

from onemq.client.connection import Connection, Word
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.outgoing import SendOptions, encoded, send_words
from onemq.client.receipt import Receipt
from onemq.client.replies import is_code, mapping, raised
from onemq.client.settlements import receipts_in_runs
from onemq.client.single import receipt_of
from onemq.errors import Disconnected, InvalidArgument, OneMQError, TimedOut

UNIT_SECONDS = 10.0
"""How long a commit is tried."""


class Unit:
    """Gathers only; `committed` sends all of it as one MULTI ... EXEC. What it sends carries idempotency keys, so it
    can be committed again after a lost connection."""

    def __init__(self, compress_above: int | None = None) -> None:
        self._compress_above = compress_above
        self._sends: list[tuple[str, tuple[Word, ...]]] = []
        self._messages: dict[tuple[str, str], list[Message]] = {}
        """By topic and group."""

    def send(self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]) -> None:
        """Sends a message when the unit commits."""
        self._sends.append((topic, send_words(topic, encoded(body, key, self._compress_above), options)))

    def ack(self, message: Message) -> None:
        """Acknowledges a message when the unit commits; if it rolls back, the message failed."""
        if message.group is None:
            raise InvalidArgument("this message was only read: no group waits for its acknowledgement")
        self._messages.setdefault((message.topic, message.group), []).append(message)

    @property
    def messages(self) -> list[Message]:
        """Those that it acknowledges."""
        return [message for messages in self._messages.values() for message in messages]

    def commands(self) -> list[tuple[Word, ...]]:
        """Everything in it."""
        acks: list[tuple[Word, ...]] = [
            ("MQ.ACK", topic, group, *receipts_in_runs(messages)) for (topic, group), messages in self._messages.items()
        ]
        return [words for _, words in self._sends] + acks

    def clear(self) -> None:
        """Forgets everything in it."""
        self._sends = []
        self._messages = {}

    async def committed(self, link: Link) -> list[Receipt]:
        """Makes all of it true; the receipts of what was sent. Raises the first error, and then nothing is true."""
        commands = self.commands()
        if not commands:
            return []
        try:
            async with asyncio.timeout(UNIT_SECONDS):
                replies = await _insist(link, commands)
        except TimeoutError:
            raise TimedOut(f"the broker did not confirm the commit within {UNIT_SECONDS:g} s") from None
        for message in self.messages:
            message.is_settled = message.is_done = True
        return [
            receipt_of(topic, mapping(reply)) for (topic, _), reply in zip(self._sends, replies, strict=False)
        ]


async def _insist(link: Link, commands: list[tuple[Word, ...]]) -> list[Any]:
    while True:
        connection = await link.ready()
        try:
            return await _execute(connection, commands)
        except Disconnected:
            if link.is_closed:
                raise


async def _execute(connection: Connection, commands: list[tuple[Word, ...]]) -> list[Any]:
    problems: list[Any] = []

    def queued(reply: Any) -> None:
        if isinstance(reply, Exception):
            problems.append(reply)

    connection.ask(("MULTI",), queued)
    for words in commands:
        connection.ask(words, queued)
    try:
        replies: list[Any] = await connection.request("EXEC")
    except OneMQError:
        raised(problems[0] if problems else None)
        raise
    for reply in sorted(replies, key=lambda reply: is_code(reply, "ABORTED")):  # what failed by itself comes first
        raised(reply)
    return replies
