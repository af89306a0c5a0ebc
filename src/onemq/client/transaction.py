"""Half messages: stored at once, handed out when their transaction commits, taken back when it does not.

A sender that dies in between has said neither. Then the broker asks anyone who listens for the same producer group,
again and again for a while: that is what `Checks` answers.
"""

import asyncio
import enum
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, Unpack

from onemq.client.address import Address
from onemq.client.connection import Connection, Word
from onemq.client.link import Link
from onemq.client.message import Message, from_map
from onemq.client.outgoing import SendOptions, encoded, send_words
from onemq.client.receipt import Receipt
from onemq.client.replies import mapping, plain
from onemq.client.single import receipt_of
from onemq.client.times import Duration, duration_word

TRANSACTION_SECONDS = 10.0
"""How long the steps of a transaction are tried."""
log = logging.getLogger("onemq.client")


class Verdict(enum.Enum):
    """What became of a transaction."""

    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    UNKNOWN = "UNKNOWN"
    """Not decided yet: ask again later."""


COMMIT, ROLLBACK, UNKNOWN = Verdict
Check = Callable[[Message], Verdict | Awaitable[Verdict]]
Half = tuple[str, object, str | bytes | None, SendOptions]
"""(topic, body, key, options)"""


class AsyncTransaction:
    """`async with producer.transaction(...) as tx:` commits at the end of the block, or rolls back on an error."""

    def __init__(self, link: Link, group: str, check_after: Duration | None, halves: list[Half]) -> None:
        self._link = link
        self._group = group
        self._check_after = check_after
        self._halves = halves
        self.id = uuid.uuid4().hex
        """Remember it with what the transaction does: the broker asks for it later."""
        self.receipts: list[Receipt] = []
        self.verdict: Verdict | None = None

    async def begin(self) -> Self:
        """Sends the half messages."""
        for topic, body, key, options in self._halves:
            await self.send(topic, body, key, **options)
        return self

    async def send(
        self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]
    ) -> Receipt:
        """One more half message of the same transaction."""
        words: list[Word] = [*send_words(topic, encoded(body, key, None), options)]
        words += ["TRANSACTION", self.id, "GROUP", self._group]
        if self._check_after is not None:
            words += ["CHECKAFTER", duration_word(self._check_after)]
        reply = mapping(await self._link.insist(*words, timeout=TRANSACTION_SECONDS))
        self.receipts.append(receipt_of(topic, reply))
        return self.receipts[-1]

    async def commit(self) -> None:
        """The messages are handed out from now on."""
        await self._decide(COMMIT)

    async def rollback(self) -> None:
        """The messages never were."""
        await self._decide(ROLLBACK)

    async def _decide(self, verdict: Verdict) -> None:
        await self._link.insist("MQ.TX", verdict.value, self.id, timeout=TRANSACTION_SECONDS)
        self.verdict = verdict

    async def __aenter__(self) -> Self:
        return await self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.verdict is None:
            await (self.commit() if error is None else self.rollback())


class Checks:
    """Answers the broker's questions about half messages of one producer group."""

    def __init__(self, address: Address, group: str | None) -> None:
        self._address = address
        self._group = group
        self._link: Link | None = None
        self._check: Check | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, check: Check) -> None:
        """From now on `check` is asked, on a connection of its own."""
        self._check = check
        if self._link is None:
            self._link = await Link(self._address, self._subscribe, self._pushed).open()

    async def close(self) -> None:
        """Answers what was asked, and listens no more."""
        if self._link is not None:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._link.close()

    async def _subscribe(self, connection: Connection) -> None:
        assert self._group is not None
        await connection.request("MQ.TX", "LISTEN", self._group)

    def _pushed(self, push: list[Any]) -> None:
        if push[0] == b"mq.check":
            task = asyncio.get_running_loop().create_task(self._answer(str(plain(push[2])), push[4]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, transaction: str, fields: Any) -> None:
        half = from_map(mapping(fields) | {"transaction": transaction})
        verdict = await self._ask(half)
        assert self._link is not None
        try:
            await self._link.request("MQ.TX", verdict.value, transaction, timeout=TRANSACTION_SECONDS)
        except Exception:
            log.exception("the broker could not be told what became of transaction %s; it will ask again", transaction)

    async def _ask(self, half: Message) -> Verdict:
        assert self._check is not None
        try:
            if inspect.iscoroutinefunction(self._check):
                verdict = await self._check(half)
            else:
                verdict = await asyncio.to_thread(self._check, half)
            return verdict if isinstance(verdict, Verdict) else UNKNOWN
        except Exception:
            log.exception("the check of transaction %s failed; the broker will ask again", half.transaction_id)
            return UNKNOWN
