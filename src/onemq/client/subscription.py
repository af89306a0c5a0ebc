"""A subscription: messages of a group that the broker pushes, as many ahead as the credit allows.

It has a connection of its own. After a lost one it tells what was settled meanwhile, and subscribes again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from onemq.client.address import Address
from onemq.client.connection import Connection, Word
from onemq.client.grouping import GroupSettings, ensure_group
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.ordered import Lanes
from onemq.client.replies import mapping, raised
from onemq.client.settlements import Settlements
from onemq.errors import OneMQError

log = logging.getLogger("onemq.consumer")
CLOSE_SECONDS = 5.0
"""How long the broker may take to confirm the last acknowledgements."""


class Subscription:
    """Gives messages to `deliver`, on the loop; `lost` is called when those in hand were given back by the broker."""

    def __init__(
        self,
        address: Address,
        topic: str,
        group: str,
        settings: GroupSettings,
        options: tuple[Word, ...],
        credit: int,
        late_count: int,
        lanes: Lanes | None,
        deliver: Callable[[list[Message]], None],
        lost: Callable[[], None],
    ) -> None:
        self.link = Link(address, self._up, self._pushed, self._down)
        self.settlements = Settlements(topic, group, self.link, late_count, lanes)
        self.era = 0
        """Counts connections: what came by an earlier one was given back."""
        self.member: str | None = None
        self._topic = topic
        self._group = group
        self._settings = settings
        self._options = options
        self._credit = credit
        self._deliver = deliver
        self._lost = lost
        self._number = -1
        self._topic_id = 0
        self._is_ending = False

    async def open(self) -> None:
        """Makes or alters the group, and subscribes."""
        await self.link.open()

    async def credit(self, count: int) -> None:
        """How many messages may be in hand from now on; 0: no new ones."""
        self._credit = count
        connection = self.link.connection
        if connection is not None:
            await connection.request("MQ.CREDIT", self._number, count)

    async def close(self) -> None:
        """Ends, after the broker has confirmed what was settled, and that the member has left."""
        self._is_ending = True
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.settlements.told()
                if self.link.connection is not None:
                    await self.link.connection.request("MQ.UNSUBSCRIBE", self._number)
        except TimeoutError:
            self.settlements.forget()
        except OneMQError as problem:
            log.debug("the broker was not told that a subscription of %r ends: %s", self._group, problem)
        await self.link.close()

    async def _up(self, connection: Connection) -> None:
        self.era += 1
        self.settlements.resume(connection)
        # Once only: what somebody changed since then is left alone.
        await ensure_group(connection, self._topic, self._group, self._settings, alter=self.era == 1)
        if self._is_ending:
            return
        subscribed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def answer(reply: Any) -> None:
            # At once, not when the loop comes round: messages may follow in the same bytes.
            if not isinstance(reply, Exception):
                fields = mapping(reply)
                self._number = int(fields["subscription"])
                self._topic_id = int(fields["topic_id"])
                self.member = fields["member"].decode()
            if not subscribed.done():
                subscribed.set_result(reply)

        words = ("MQ.SUBSCRIBE", self._topic, self._group, "CREDIT", self._credit, *self._options)
        connection.ask(words, answer)
        raised(await subscribed)

    def _down(self) -> None:
        self.era += 1
        self._lost()

    def _pushed(self, push: list[Any]) -> None:
        if push[1] != self._number:
            return
        if push[0] == b"mq.ended":
            log.warning("the subscription of %r to %r ended: %s", self._group, self._topic, push[2].decode())
            self.link.renew()
            return
        flat = iter(push[2])
        topic, settlements, era, topic_id = self._topic, self.settlements, self.era, self._topic_id
        messages = [
            Message(topic, partition, offset, deliveries, stored, key, body, headers, settlements, era, topic_id)
            for partition, offset, deliveries, stored, key, body, headers in zip(
                flat, flat, flat, flat, flat, flat, flat, strict=True
            )
        ]
        self._deliver(messages)
