"""Sessions: sends and acknowledgements that commit together, or roll back.

    async with mq.session() as session:
        for message in await session.receive("orders", "points", 10, wait="5s"):
            session.send("booked", message.body)
"""

from types import TracebackType
from typing import Self

from onemq.client.address import Address
from onemq.client.consuming import consumer_settings
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.puller import Puller
from onemq.client.receipt import Receipt
from onemq.client.times import Duration, milliseconds
from onemq.client.unit import Unit


class AsyncSession(Unit):
    """Commits at the end of an `async with` block, or rolls back on an error. It can be used again and again: each
    commit or rollback begins anew. What it received counts as failed when it rolls back."""

    def __init__(
        self, link: Link, address: Address, compress_above: int | None, open_ones: set["AsyncSession"]
    ) -> None:
        super().__init__(compress_above)
        self._open_ones = open_ones
        """Of the client, which closes those that are left."""
        self._link = link
        self._address = address
        self._pullers: dict[tuple[str, str], Puller] = {}

    async def receive(self, topic: str, group: str, count: int = 1, wait: Duration = 0) -> list[Message]:
        """Messages of a group, acknowledged by the commit."""
        puller = self._pullers.get((topic, group))
        if puller is None:
            self._open_ones.add(self)
            puller = self._pullers[topic, group] = Puller(self._address, consumer_settings(topic, group))
            await puller.open()
        messages = await puller.receive(count, milliseconds(wait))
        for message in messages:
            self.ack(message)
        return messages

    async def commit(self) -> list[Receipt]:
        """All of it becomes true; the receipts of what was sent."""
        receipts = await self.committed(self._link)
        self.clear()
        return receipts

    async def rollback(self) -> None:
        """Nothing was sent, and what was received failed."""
        for message in self.messages:
            message.nack(reason="the session was rolled back")
        self.clear()
        for puller in self._pullers.values():
            await puller.settlements.told()

    async def close(self) -> None:
        """Rolls back what is left and ends."""
        await self.rollback()
        for puller in self._pullers.values():
            await puller.close()
        self._pullers.clear()
        self._open_ones.discard(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await self.commit()
        finally:
            await self.close()
