"""Sending, for programs without asyncio."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self, Unpack

from onemq.client.outgoing import SendOptions
from onemq.client.producer import AsyncProducer, OnDone, ProducerCore, slices
from onemq.client.receipt import Part, Pending, Receipt, receipts_of
from onemq.client.sync.portal import Portal, waiting_for_itself
from onemq.client.times import Duration
from onemq.client.transaction import AsyncTransaction, Check, Verdict


class Producer:
    """Sends messages. Made by `client.producer(...)`; threads may share it. See `AsyncProducer` for its settings."""

    def __init__(self, portal: Portal, core: ProducerCore) -> None:
        self._portal = portal
        self._core = core
        self._async = AsyncProducer(core)

    def send(
        self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Sends one message and waits until it is stored."""
        if self._portal.is_here:
            raise waiting_for_itself()
        return self.send_async(topic, body, key, **options).result()

    def send_async(
        self,
        topic: str,
        body: object,
        key: str | bytes | None = None,
        on_done: OnDone | None = None,
        **options: Unpack[SendOptions],
    ) -> Pending:
        """Sends one message and returns at once, or when there is room: ask it for its `result()`, or be called back
        with it, on the client's own thread."""
        core = self._core
        route = core.batching.route(topic)
        if route is None:
            route = self._portal.call(core.batching.find_route(topic))
        if core.batching.is_full:
            core.batching.block_for_room()
        pending = core.begin(route, topic, body, key, options)
        if on_done is not None:
            pending.add_done_callback(on_done)
        return pending

    def send_oneway(
        self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]
    ) -> None:
        """Sends one message and forgets it; an error is not told."""
        self.send_async(topic, body, key, **options)

    def send_batch(self, topic: str, messages: Iterable[object]) -> list[Receipt]:
        """Sends many messages, each a body or an `Outgoing`, split into batches by itself; waits for all."""
        if self._portal.is_here:
            raise waiting_for_itself()
        core = self._core
        route = core.batching.route(topic) or self._portal.call(core.batching.find_route(topic))
        parts: list[Part] = []
        for some in slices(messages):
            core.batching.block_for_room()
            parts += core.begin_many(route, topic, some)
        for outcome, _, _ in parts:
            outcome.wait(None)
        return receipts_of(parts)

    def transaction(
        self,
        topic: str,
        body: object,
        key: str | bytes | None = None,
        *,
        check_after: Duration | None = None,
        **options: Unpack[SendOptions],
    ) -> "Transaction":
        """A half message: nobody gets it before the `with` block ends; an error in it takes it back."""
        made = self._async.transaction(topic, body, key, check_after=check_after, **options)
        return Transaction(self._portal, made)

    def on_check(self, check: Check) -> None:
        """Says who knows what became of half messages of this group, when the broker asks: a function of the half
        message that returns COMMIT, ROLLBACK or UNKNOWN. It runs in a thread."""
        self._portal.call(self._async.on_check(check))

    def flush(self) -> None:
        """Waits until everything that was sent is stored or has failed."""
        self._portal.call(self._core.batching.flushed())

    def close(self) -> None:
        """Sends what is left, waits for it, and takes no more."""
        self._portal.call(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Transaction:
    """`with producer.transaction(...) as tx:` commits at the end of the block, or rolls back on an error."""

    def __init__(self, portal: Portal, made: AsyncTransaction) -> None:
        self._portal = portal
        self._async = made

    @property
    def id(self) -> str:
        """Remember it with what the transaction does: the broker asks for it later."""
        return self._async.id

    @property
    def receipts(self) -> list[Receipt]:
        """Of its messages so far."""
        return self._async.receipts

    @property
    def verdict(self) -> Verdict | None:
        """What became of it."""
        return self._async.verdict

    def send(
        self, topic: str, body: object, key: str | bytes | None = None, **options: Unpack[SendOptions]
    ) -> Receipt:
        """One more half message of the same transaction."""
        return self._portal.call(self._async.send(topic, body, key, **options))

    def commit(self) -> None:
        """The messages are handed out from now on."""
        self._portal.call(self._async.commit())

    def rollback(self) -> None:
        """The messages never were."""
        self._portal.call(self._async.rollback())

    def __enter__(self) -> Self:
        self._portal.call(self._async.begin())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(self._async.__aexit__(kind, error, trace))
