"""Settlements: what was decided about messages in hand, gathered and told to the broker in runs.

`ack` and the others may be called from any thread. Acknowledgements of one turn of the loop leave as one MQ.ACK with
ranges. What the broker has not confirmed when a connection is lost is told again on the next one, before anything is
received there: so a message whose handler ended is not handed out again.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from onemq.client.connection import Connection, Word
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.ordered import Lanes
from onemq.errors import Disconnected

RECEIPTS_MAX = 1_000
"""Receipts in one command."""
LATE_SECONDS = 1.0
"""How long lazy acknowledgements are gathered at most."""
RETURNING = ("NACK", "RELEASE")
"""Deeds after which the broker hands the message out again."""
log = logging.getLogger("onemq.client")
Deed = tuple[str, Message, int | None, str]
"""(NACK, REJECT, RELEASE or EXTEND; the message; a delay in ms; a reason)"""


class Settlements:
    """Of one group on one topic."""

    def __init__(self, topic: str, group: str, link: Link, late_count: int = 0, lanes: Lanes | None = None) -> None:
        self._link = link
        self._lanes = lanes
        """Of an ordered consumer."""
        self._topic = topic
        self.group = group
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._late_count = late_count
        """Lazy acknowledgements wait until they are so many; 0: none waits."""
        self._acks: deque[Message] = deque()
        self._deeds: deque[Deed] = deque()
        self._scheduled = False
        self._is_late = False
        self._timer: asyncio.TimerHandle | None = None
        self._unanswered: dict[int, tuple[Word, ...]] = {}
        self._number = 0
        self._idle: list[asyncio.Future[None]] = []

    # On any thread.

    def ack(self, message: Message) -> None:
        if not message.is_settled:
            message.is_settled = message.is_done = True
            self._acks.append(message)
            if not self._scheduled:
                self._schedule(self._late_count)

    def nack(self, message: Message, delay_ms: int | None, reason: str) -> None:
        self._deed("NACK", message, delay_ms, reason)

    def reject(self, message: Message, reason: str) -> None:
        self._deed("REJECT", message, None, reason)

    def release(self, message: Message) -> None:
        self._deed("RELEASE", message, None, "")

    def extend(self, message: Message) -> None:
        self._deeds.append(("EXTEND", message, None, ""))
        self._schedule(0)

    def _deed(self, what: str, message: Message, delay_ms: int | None, reason: str) -> None:
        if not message.is_settled:
            message.is_settled = True
            if self._lanes is not None and what in RETURNING:
                self._lanes.shut(message)
            self._deeds.append((what, message, delay_ms, reason))
            self._schedule(0)

    def _schedule(self, late_count: int) -> None:
        if late_count and len(self._acks) < late_count:
            if not self._is_late:
                self._is_late = True
                self.on_loop(self._flush_later)
        elif not self._scheduled:
            self._scheduled = True
            self.on_loop(self.flush)

    def on_loop(self, call: Callable[[], None]) -> None:
        """Calls soon, on the loop."""
        if threading.get_ident() == self._thread:
            self._loop.call_soon(call)
        else:
            self._loop.call_soon_threadsafe(call)

    # On the loop.

    def _flush_later(self) -> None:
        if self._timer is None and self._acks:
            self._timer = self._loop.call_later(LATE_SECONDS, self.flush)

    def flush(self) -> None:
        """Tells the broker what was gathered."""
        self._scheduled = self._is_late = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        connection = self._link.connection
        if connection is not None:
            self._tell(connection)

    def resume(self, connection: Connection) -> None:
        """A new connection: tells what the last one did not confirm."""
        unanswered, self._unanswered = self._unanswered, {}
        for words in unanswered.values():
            self._ask(connection, words)
        for deed in _drained(self._deeds):
            if deed[0] == "REJECT":
                self._deeds.append(deed)
            elif deed[0] in RETURNING:  # the broker gave it back by itself
                self._opened([deed[1]])
        self._tell(connection)

    async def told(self) -> None:
        """Waits until the broker has confirmed everything."""
        self.flush()
        while self._unanswered or ((self._acks or self._deeds) and not self._link.is_closed):
            future = self._loop.create_future()
            self._idle.append(future)
            await future

    def forget(self) -> None:
        """Nobody waits for confirmations any more: the client gives up."""
        self._unanswered.clear()
        self._acks.clear()
        self._deeds.clear()
        self._wake()

    def _tell(self, connection: Connection) -> None:
        if self._acks:
            receipts = list(receipts_in_runs(_drained(self._acks)))
            for position in range(0, len(receipts), RECEIPTS_MAX):
                some = receipts[position : position + RECEIPTS_MAX]
                self._ask(connection, ("MQ.ACK", self._topic, self.group, *some))
        if self._deeds:
            for what, delay_ms, reason, messages in _alike(_drained(self._deeds)):
                words: list[Word] = [f"MQ.{what}", self._topic, self.group, *receipts_in_runs(messages)]
                if delay_ms is not None:
                    words += ["DELAY", delay_ms]
                if reason:
                    words += ["REASON", reason]
                self._ask(connection, tuple(words), messages if what in RETURNING else ())

    def _ask(self, connection: Connection, words: tuple[Word, ...], returned: Sequence[Message] = ()) -> None:
        self._number += 1
        number = self._number
        self._unanswered[number] = words
        connection.ask(words, lambda reply: self._answered(number, words, returned, reply))

    def _answered(self, number: int, words: tuple[Word, ...], returned: Sequence[Message], reply: Any) -> None:
        self._opened(returned)
        if isinstance(reply, Disconnected):
            if words[0] not in ("MQ.ACK", "MQ.REJECT"):  # the broker gave the messages back by itself
                self._unanswered.pop(number, None)
        else:
            self._unanswered.pop(number, None)
            if isinstance(reply, Exception):
                log.error("%s of group %r on %r failed: %s", words[0], self.group, self._topic, reply)
        if not self._unanswered:
            self._wake()

    def _opened(self, messages: Sequence[Message]) -> None:
        if self._lanes is not None:
            for message in messages:
                self._lanes.opened(message)

    def _wake(self) -> None:
        idle, self._idle = self._idle, []
        for future in idle:
            if not future.done():
                future.set_result(None)


def _drained(items: deque[Any]) -> list[Any]:
    """Takes all that are there now; others may be added meanwhile."""
    return [items.popleft() for _ in range(len(items))]


def receipts_in_runs(messages: Iterable[Message]) -> Iterable[str]:
    """Their receipts, with runs of offsets as ranges."""
    partition = first = last = -1
    for message in messages:
        offset = message.offset
        if offset == last + 1 and message.partition == partition:
            last = offset
            continue
        if partition >= 0:
            yield _receipt(partition, first, last)
        partition, first, last = message.partition, offset, offset
    if partition >= 0:
        yield _receipt(partition, first, last)


def _receipt(partition: int, first: int, last: int) -> str:
    return f"{partition}:{first}" if first == last else f"{partition}:{first}-{last}"


def _alike(deeds: list[Deed]) -> Iterable[tuple[str, int | None, str, list[Message]]]:
    """Deeds that follow each other and differ in the message only, together."""
    run: list[Message] = []
    same: tuple[str, int | None, str] | None = None
    for what, message, delay_ms, reason in deeds:
        if same is not None and (what, delay_ms, reason) != same:
            yield *same, run
            run = []
        same = (what, delay_ms, reason)
        run.append(message)
    if same is not None:
        yield *same, run
