"""Pulling: messages of a group when they are asked for."""

import asyncio
from typing import Any

from onemq.client.address import Address
from onemq.client.connection import Connection, Word
from onemq.client.consuming import ConsumerSettings
from onemq.client.grouping import ensure_group
from onemq.client.link import Link
from onemq.client.message import Message, from_map
from onemq.client.replies import mapping
from onemq.client.settlements import Settlements
from onemq.client.subscription import CLOSE_SECONDS


class Puller:
    """Takes messages when asked, on a connection of its own, since that waits with the request."""

    def __init__(self, address: Address, settings: ConsumerSettings) -> None:
        self._settings = settings
        self.link = Link(address, self._up, on_down=self._down)
        self._settling = Link(address, self._settling_up)
        """Another one, so that acknowledgements do not wait behind a request that waits."""
        self.settlements = Settlements(settings.topic, settings.group, self._settling)
        self._era = 0

    async def open(self) -> None:
        """Connects, and makes or alters the group."""
        await self.link.open()
        await self._settling.open()

    async def receive(self, count: int, wait_ms: int) -> list[Message]:
        """Up to `count` messages; waits for the first one."""
        settings = self._settings
        words: list[Word] = ["MQ.RECEIVE", settings.topic, settings.group, "COUNT", count]
        if wait_ms:
            words += ["WAIT", wait_ms]
        if settings.member is not None:
            words += ["MEMBER", settings.member]
        era = self._era
        reply: list[Any] = await self.link.request(*words)
        return [from_map(mapping(each), self.settlements, era) for each in reply or ()]

    async def close(self) -> None:
        """What was not acknowledged is given back by the broker."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.settlements.told()
        except TimeoutError:
            self.settlements.forget()
        await self._settling.close()
        await self.link.close()

    async def _settling_up(self, connection: Connection) -> None:
        self.settlements.resume(connection)

    async def _up(self, connection: Connection) -> None:
        settings = self._settings
        await ensure_group(connection, settings.topic, settings.group, settings.settings, alter=self._era == 0)

    def _down(self) -> None:
        self._era += 1


