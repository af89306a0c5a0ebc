"""Sessions, for programs without asyncio."""

from types import TracebackType
from typing import Self, Unpack

from onemq.client.message import Message
from onemq.client.outgoing import SendOptions
from onemq.client.receipt import Receipt
from onemq.client.session import AsyncSession
from onemq.client.sync.portal import Portal
from onemq.client.times import Duration


class Session:
    """Sends and acknowledgements that commit together at the end of a `with` block, or roll back on an error."""

    def __init__(self, portal: Portal, made: AsyncSession) -> None:
        self._portal = portal
        self._async = made

    def send(self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]) -> None:
        """Sends a message when the session commits."""
        self._async.send(topic, body, key, **options)

    def ack(self, message: Message) -> None:
        """Acknowledges a message when the session commits; if it rolls back, the message failed."""
        self._async.ack(message)

    def receive(self, topic: str, group: str, count: int = 1, wait: Duration = 0) -> list[Message]:
        """Messages of a group, acknowledged by the commit."""
        return self._portal.call(self._async.receive(topic, group, count, wait))

    def commit(self) -> list[Receipt]:
        """All of it becomes true; the receipts of what was sent."""
        return self._portal.call(self._async.commit())

    def rollback(self) -> None:
        """Nothing was sent, and what was received failed."""
        self._portal.call(self._async.rollback())

    def close(self) -> None:
        """Rolls back what is left and ends."""
        self._portal.call(self._async.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(self._async.__aexit__(kind, error, trace))
