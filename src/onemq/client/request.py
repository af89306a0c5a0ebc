"""Request and reply: a message out, and the answer that a handler returns for it.

Answers come to a topic of the client's own, made for the first request and deleted when the client closes; which
request one belongs to, its correlation says.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable

from onemq.client.consumer import AsyncConsumer
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.outgoing import SendOptions
from onemq.client.producer import AsyncProducer
from onemq.client.times import Duration, milliseconds
from onemq.errors import OneMQError, TimedOut

REPLY_PREFIX = "onemq.reply."
REPLY_GROUP = "replies"
REPLIES_KEPT = "1h"
"""Answers that nobody fetches, because the client has died, go after this time."""


class Requests:
    """The open requests of one client."""

    def __init__(self, link: Link, producer: AsyncProducer, make_consumer: Callable[[str, str], AsyncConsumer]) -> None:
        self._link = link
        self._producer = producer
        self._make_consumer = make_consumer
        self._topic = f"{REPLY_PREFIX}{uuid.uuid4().hex}"
        self._open: dict[str, asyncio.Future[Message]] = {}
        self._consumer: AsyncConsumer | None = None
        self._starting = asyncio.Lock()

    async def request(
        self, topic: str, body: object, key: str | bytes | None, timeout: Duration, options: SendOptions
    ) -> Message:
        """Sends and waits for the answer."""
        async with self._starting:
            if self._consumer is None:
                self._consumer = await self._listen()
        correlation = options.get("correlation") or uuid.uuid4().hex
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._open[correlation] = future
        with_reply: SendOptions = {**options, "reply_to": self._topic, "correlation": correlation}
        seconds = milliseconds(timeout) / 1000
        try:
            async with asyncio.timeout(seconds):
                await self._producer.send(topic, body, key, **with_reply)
                return await future
        except TimeoutError:
            raise TimedOut(f"nobody answered on {topic!r} within {seconds:g} s") from None
        finally:
            del self._open[correlation]

    async def close(self) -> None:
        """Listens no more; the topic of answers goes."""
        if self._consumer is not None:
            await self._consumer.stop()
            with contextlib.suppress(OneMQError):  # then it stays, and becomes empty
                await self._link.request("MQ.TOPIC", "DELETE", self._topic, timeout=1.0)

    async def _listen(self) -> AsyncConsumer:
        words = ("KIND", "QUEUE", "FLUSH", "ASYNC", "RETENTION", REPLIES_KEPT, "IFNOTEXISTS")
        await self._link.request("MQ.TOPIC", "CREATE", self._topic, *words)
        consumer = self._make_consumer(self._topic, REPLY_GROUP)
        consumer(self._answered)
        await consumer.start()
        return consumer

    async def _answered(self, message: Message) -> None:
        future = self._open.get(message.correlation or "")
        if future is not None and not future.done():
            future.set_result(message)
