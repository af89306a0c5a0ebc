"""`onemq bench`: a small load on a broker, and what it made of it.

Messages are sent and received by the SDK, as a program of its users would: first as many as there are, as quickly as
they go; then received and acknowledged; then a few at a steady rate, to see how long one takes from sender to receiver.
Sender and receiver share this process, so the broker may be able to do more than what is shown.
"""

import secrets
import struct
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.cli.broker import DEFAULT_URL, Url
from onemq.cli.output import Json, show_json, show_table
from onemq.cli.progress import counted
from onemq.errors import OneMQError

if TYPE_CHECKING:
    import asyncio

    from onemq.aio import Client

GROUP = "bench"
CHUNK = 250
"""So many are sent before the loop has its turn."""
CHUNKS_UNDER_WAY = 40
PATIENCE_SECONDS = 10
"""Without a message for so long, something is wrong."""
_SENT_AT = struct.Struct("<d")


def bench(
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many messages.")] = 100_000,
    size: Annotated[int, typer.Option(metavar="BYTES", min=_SENT_AT.size, help="Of each body.")] = 100,
    partitions: Annotated[int, typer.Option(metavar="N", min=1)] = 1,
    flush: Annotated[str, typer.Option(metavar="sync|async", help="Whether a send waits for the disk.")] = "sync",
    rate: Annotated[int, typer.Option(metavar="N", min=1, help="Messages per second of the last step.")] = 1_000,
    seconds: Annotated[float, typer.Option(metavar="S", min=0, help="How long the last step takes.")] = 3,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Measures how quickly a broker takes and hands out messages. It makes a topic and deletes it at the end."""
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        steps = runner.run(_measured(url, count, size, partitions, flush, rate, seconds))
    if as_json:
        show_json({"count": count, "size": size, "partitions": partitions, "flush": flush, "steps": steps})
    else:
        show_table(steps, ["step", "messages", "per_second", "mib_per_second", "p50_ms", "p99_ms", "max_ms"], False)


async def _measured(
    url: str, count: int, size: int, partitions: int, flush: str, rate: int, seconds: float
) -> list[dict[str, Any]]:
    from onemq import aio

    async with aio.connect(url) as mq, _topic(mq, partitions, flush) as topic:
        steps = [await _send(mq, topic, count, size), await _receive(mq, topic, count, size)]
        if seconds:
            steps.append(await _steady(mq, topic, size, rate, int(rate * seconds)))
    return steps


@asynccontextmanager
async def _topic(mq: "Client", partitions: int, flush: str) -> AsyncIterator[str]:
    name = f"onemq.bench.{secrets.token_hex(4)}"
    await mq.execute("MQ.TOPIC", "CREATE", name, "PARTITIONS", partitions, "FLUSH", flush)
    try:
        yield name
    finally:
        await mq.execute("MQ.TOPIC", "DELETE", name)


async def _send(mq: "Client", topic: str, count: int, size: int) -> dict[str, Any]:
    """All, with so many under way at a time. How long one in each chunk takes until it is stored is measured."""
    import asyncio

    body, took_ms = bytes(size), list[float]()
    under_way: deque[Any] = deque()
    begun = time.perf_counter()
    with counted("sending", count) as advance:
        async with mq.producer() as producer:
            for first in range(0, count, CHUNK):
                many, sent_at = min(CHUNK, count - first), time.perf_counter()
                for _ in range(many):
                    pending = await producer.send_async(topic, body)
                pending.add_done_callback(partial(_note, took_ms, sent_at))
                under_way.append(pending)
                await asyncio.sleep(0)
                if len(under_way) > CHUNKS_UNDER_WAY:
                    await under_way.popleft()
                advance(many)
            for pending in under_way:
                await pending
    return _result("send", count, size, time.perf_counter() - begun, took_ms)


async def _receive(mq: "Client", topic: str, count: int, size: int) -> dict[str, Any]:
    """All of them, pushed and acknowledged."""
    import asyncio

    received, loop = 0, asyncio.get_running_loop()
    with counted("receiving", count) as advance:
        async with mq.consumer(topic, group=GROUP, prefetch=10_000) as consumer, _patience() as patience:
            begun = time.perf_counter()
            async for message in consumer:
                received += 1
                if received % CHUNK == 0:
                    advance(CHUNK)
                    patience.reschedule(loop.time() + PATIENCE_SECONDS)
                if received == count:
                    message.ack()
                    break
            await consumer.flush()
            took = time.perf_counter() - begun
    return _result("receive", count, size, took, [])


@asynccontextmanager
async def _patience() -> "AsyncIterator[asyncio.Timeout]":
    """As long as messages come."""
    import asyncio

    try:
        async with asyncio.timeout(PATIENCE_SECONDS) as limit:
            yield limit
    except TimeoutError:
        raise OneMQError("messages that were sent did not come back; the broker's log may say why") from None


async def _steady(mq: "Client", topic: str, size: int, rate: int, count: int) -> dict[str, Any]:
    """At a steady rate: how long each takes from the call of the sender to the receiver."""
    import asyncio

    took_ms: list[float] = []
    with counted("steadily", count) as advance:
        async with mq.consumer(topic, group=GROUP) as consumer, mq.producer() as producer:

            async def receive() -> None:
                async for message in consumer:
                    took_ms.append(_ms_since(_SENT_AT.unpack_from(message.body)[0]))
                    advance(1)
                    if len(took_ms) == count:
                        return

            receiving = asyncio.create_task(receive())
            begun = time.perf_counter()
            for number in range(count):
                await asyncio.sleep(begun + number / rate - time.perf_counter())
                await producer.send_async(topic, _SENT_AT.pack(time.perf_counter()).ljust(size, b"\0"))
            async with _patience():
                await receiving
    return _result("end to end", count, size, time.perf_counter() - begun, took_ms)


def _note(took_ms: list[float], sent_at: float, pending: object) -> None:
    took_ms.append(_ms_since(sent_at))


def _ms_since(moment: float) -> float:
    return (time.perf_counter() - moment) * 1000


def _result(step: str, count: int, size: int, seconds: float, took_ms: list[float]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "step": step,
        "messages": count,
        "per_second": round(count / seconds),
        "mib_per_second": round(count * size / seconds / (1 << 20), 1),
    }
    if took_ms:
        took_ms.sort()
        facts |= {f"p{share}_ms": round(took_ms[len(took_ms) * share // 100], 2) for share in (50, 99)}
        facts["max_ms"] = round(took_ms[-1], 2)
    return facts
