"""Producers: send and wait, send and be told, send and forget; in batches by themselves.

`ProducerCore` does the work for both faces; `AsyncProducer` is the one of asyncio.
"""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, Unpack

from onemq.client.batching import Batching
from onemq.client.headers import simple_block, to_bytes
from onemq.client.hooks import Hooks
from onemq.client.link import Link
from onemq.client.outgoing import Outgoing, SendOptions, encoded, is_batched, record_headers, send_words, typed
from onemq.client.receipt import Part, Pending, Receipt, receipts_of
from onemq.client.route import Route, Selector
from onemq.client.times import Duration, milliseconds
from onemq.client.transaction import AsyncTransaction, Check, Checks
from onemq.errors import Disconnected, InvalidArgument
from onemq.limits import KIB, MIB

RETRIES = 2
TIMEOUT_SECONDS = 3
COMPRESS_ABOVE_BYTES = 4 * KIB
BUFFER_BYTES = 32 * MIB
SMALL_BYTES = 1 * KIB
"""Bodies up to this size are never compressed, and take the quick way."""
OnDone = Callable[[Pending], Any]


class ProducerCore:
    """What both faces of a producer share. `begin` may be called from any thread, all the rest on the loop."""

    def __init__(
        self,
        link: Link,
        group: str | None,
        retries: int,
        timeout: Duration,
        compress_above: int | None,
        buffer_bytes: int,
        selector: Selector | None,
        hooks: Hooks | None,
        on_close: Callable[["ProducerCore"], None],
    ) -> None:
        self._on_close = on_close
        self.link = link
        self.group = group
        self.batching = Batching(link, milliseconds(timeout) / 1000, retries, buffer_bytes)
        self.checks = Checks(link.address, group)
        self._compress_above = compress_above
        self._selector = selector
        self._hooks = hooks
        self.is_closed = False

    def begin(self, route: Route, topic: str, body: object, key: str | bytes | None, options: SendOptions) -> Pending:
        """Gives a message to the batches, or sends it by itself where it is special."""
        if self.is_closed:
            raise Disconnected("the producer is closed")
        if self._hooks is not None:
            options = self._traced(topic, options)
        if not options and self._selector is None and (type(body) is not bytes or len(body) <= SMALL_BYTES):
            pending = self._begin_plain(route, body, key)
            if pending is not None:
                return pending
        return self._begin_any(route, topic, body, key, options)

    def _begin_plain(self, route: Route, body: object, key: str | bytes | None) -> Pending | None:
        """The quick way of messages without options that need not be compressed."""
        value, content_type = (body, None) if type(body) is bytes else typed(body)
        if len(value) > SMALL_BYTES:
            return None
        wire_key = key.encode() if type(key) is str else to_bytes(key) if key is not None else None
        return self.batching.add(route, route.choose(wire_key), wire_key, value, simple_block(None, content_type))

    def _begin_any(
        self, route: Route, topic: str, body: object, key: str | bytes | None, options: SendOptions
    ) -> Pending:
        message = encoded(body, key, self._compress_above)
        batching = self.batching
        ordering_key = options.get("ordering_key")
        partition = options.get("partition")
        if self._selector is not None and partition is None:
            chosen_by = to_bytes(ordering_key) if ordering_key is not None else message.key
            partition = self._selector(chosen_by, len(route.lanes))
            options = {**options, "partition": partition}
        if not is_batched(options) or len(message.value) > route.batch_bytes_max // 2:
            words = send_words(topic, message, options)
            return batching.add_single(batching.single(topic, words, len(message.value)))
        if partition is None:
            partition = route.choose(to_bytes(ordering_key) if ordering_key is not None else message.key)
        elif not 0 <= partition < len(route.lanes):
            raise InvalidArgument(f"topic {topic!r} has partitions 0 to {len(route.lanes) - 1}, not {partition}")
        return batching.add(route, partition, message.key, message.value, record_headers(message, options))

    def begin_many(self, route: Route, topic: str, many: list[Any]) -> list[Part]:
        """All messages of a list. Bodies that are bytes and of one partition are taken together."""
        alike = len(route.lanes) == 1 and self._selector is None and self._hooks is None and not self.is_closed
        if alike and all(type(each) is bytes and len(each) <= SMALL_BYTES for each in many):
            return self.batching.add_alike(route, 0, many, simple_block(None, None))
        none: SendOptions = {}
        return [
            self.begin(route, topic, each.body, each.key, each.options).part
            if isinstance(each, Outgoing)
            else self.begin(route, topic, each, None, none).part
            for each in many
        ]

    async def close(self) -> None:
        """Sends what is left and waits for it."""
        self.is_closed = True
        await self.batching.close()
        await self.checks.close()
        self._on_close(self)

    def _traced(self, topic: str, options: SendOptions) -> SendOptions:
        assert self._hooks is not None
        headers = self._hooks.sending(topic, options.get("headers"))
        return {**options, "headers": headers} if headers else options


class AsyncProducer:
    """Sends messages. Made by `client.producer(...)`; one may serve a whole program.

    `retries` and `timeout`: an answer may take `timeout` before the connection counts as dead, and a message is tried
    for `timeout * (retries + 1)` in all; it is never stored twice. `compress_above`: larger bodies are compressed.
    `buffer_bytes`: above that much under way, senders wait.
    """

    def __init__(self, core: ProducerCore) -> None:
        self._core = core

    async def send(
        self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Sends one message and waits until it is stored."""
        return await (await self.send_async(topic, body, key, **options))

    async def send_async(
        self,
        topic: str,
        body: object,
        key: str | bytes | None = None,
        on_done: OnDone | None = None,
        **options: Unpack[SendOptions],
    ) -> Pending:
        """Sends one message and returns at once, or when there is room: `await` what it returns, or be called back."""
        core = self._core
        route = core.batching.route(topic) or await core.batching.find_route(topic)
        if core.batching.is_full:
            await core.batching.room()
        pending = core.begin(route, topic, body, key, options)
        if on_done is not None:
            pending.add_done_callback(on_done)
        return pending

    async def send_oneway(
        self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]
    ) -> None:
        """Sends one message and forgets it; an error is not told."""
        await self.send_async(topic, body, key, **options)

    async def send_batch(self, topic: str, messages: Iterable[object]) -> list[Receipt]:
        """Sends many messages, each a body or an `Outgoing`, split into batches by itself; waits for all."""
        core = self._core
        route = core.batching.route(topic) or await core.batching.find_route(topic)
        parts: list[Part] = []
        for some in slices(messages):
            await core.batching.room()
            parts += core.begin_many(route, topic, some)
        for outcome, _, _ in parts:
            if not outcome.is_done:
                await outcome.done()
        return receipts_of(parts)

    def transaction(
        self,
        topic: str,
        body: object,
        key: str | bytes | None = None,
        *,
        check_after: Duration | None = None,
        **options: Unpack[SendOptions],
    ) -> AsyncTransaction:
        """A half message: nobody gets it before the `async with` block ends; an error in it takes it back."""
        return AsyncTransaction(self._core.link, self._group(), check_after, [(topic, body, key, options)])

    async def on_check(self, check: Check) -> None:
        """Says who knows what became of half messages of this group, when the broker asks: a function of the half
        message, plain or async, that returns COMMIT, ROLLBACK or UNKNOWN."""
        self._group()
        await self._core.checks.listen(check)

    async def flush(self) -> None:
        """Waits until everything that was sent is stored or has failed."""
        await self._core.batching.flushed()

    async def close(self) -> None:
        """Sends what is left, waits for it, and takes no more."""
        await self._core.close()

    def _group(self) -> str:
        if self._core.group is None:
            raise InvalidArgument("half messages need a producer with a group: producer(group=...)")
        return self._core.group

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


SLICE_MESSAGES = 5_000
"""How many messages of a list are looked at before asking for room again."""


def slices(messages: Iterable[object]) -> Iterable[list[Any]]:
    """A long list in parts."""
    part: list[object] = []
    for message in messages:
        part.append(message)
        if len(part) == SLICE_MESSAGES:
            yield part
            part = []
    if part:
        yield part
