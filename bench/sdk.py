"""The SDK against redis-py, each against its own server with synced writes; see docs/benchmarks.md.

The same Python process sends, or receives and acknowledges, messages of 100 bytes: with OneMQ's SDK through a sync
topic, and with redis-py's pipelines of XADD, and XREADGROUP and XACK, against a redis-server with `appendfsync always`.
Redis's pipelines are tried in two sizes and the quicker one counts.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median, quantiles
from typing import Any, NamedTuple

import redis

import onemq
from bench.report import Result
from bench.resp_load import Target
from bench.resp_servers import servers

BODY = b"x" * 100
MESSAGES = 100_000
RUNS = 3
PIPELINES = (100, 1000)
RATE = 2_000
"""Messages per second, while the time from send to handler is measured."""
RATE_SECONDS = 5.0
TICK_SECONDS = 0.005
PATIENCE_SECONDS = 120.0


def compare(parent: str | None, quick: bool) -> Iterator[Result]:
    """All cases; none, and it says why, without Redis's programs."""
    if shutil.which("redis-server") is None:
        print("redis-server is missing: apt-get install redis-server", file=sys.stderr)
        return
    messages, runs, seconds = (10_000, 1, 1.0) if quick else (MESSAGES, RUNS, RATE_SECONDS)
    with servers("sync", parent) as (ours, theirs):
        yield _compared(
            "SDK, pipelined send", runs, lambda: _send(ours, messages), lambda: _redis_send(theirs, messages)
        )
        yield _compared(
            "SDK, push and acknowledge",
            runs,
            lambda: _handle(ours, messages),
            lambda: _redis_handle(theirs, messages),
        )
        our_delays, their_delays = _delays(ours, seconds), _redis_delays(theirs, seconds)
        beside = {"ours_p50_ms": _percentile_ms(our_delays, 50), "redis_p50_ms": _percentile_ms(their_delays, 50)}
        beside |= {"ours_p99_ms": _percentile_ms(our_delays, 99), "redis_p99_ms": _percentile_ms(their_delays, 99)}
        name = f"SDK, p99 from send to handler at {RATE:,}/s"
        yield Result(name, beside["ours_p99_ms"], "ms", None, more_is_better=False, beside=beside)


class Load:
    """So many messages per second, and the time of processors that this process spent on each."""

    def __init__(self, messages: int) -> None:
        self._messages = messages
        self._begun, self._cpu = time.perf_counter(), time.process_time()

    def done(self) -> "Speed":
        seconds, cpu_seconds = time.perf_counter() - self._begun, time.process_time() - self._cpu
        return Speed(self._messages / seconds, cpu_seconds * 1e6 / self._messages)


class Speed(NamedTuple):
    """What a load made of it."""

    rate: float
    cpu_us: float


def _compared(name: str, runs: int, ours: Callable[[], Speed], theirs: Callable[[], Speed]) -> Result:
    """The medians of both, measured by turns."""
    found: tuple[list[Speed], list[Speed]] = ([], [])
    for _ in range(runs):
        found[0].append(ours())
        found[1].append(theirs())
    us, them = (Speed(*(median(values) for values in zip(*speeds, strict=True))) for speeds in found)
    print(f"  {name}: {us.rate:,.0f}/s against {them.rate:,.0f}/s", file=sys.stderr, flush=True)
    beside = {"ours_rate": us.rate, "redis_rate": them.rate, "ours_cpu_us": us.cpu_us, "redis_cpu_us": them.cpu_us}
    return Result(name, us.rate / them.rate, "times redis-py", 1.0, beside=beside)


# OneMQ.


def _connect(target: Target) -> onemq.Client:
    return onemq.connect(f"onemq://127.0.0.1:{target.port}")


def _emptied(mq: onemq.Client, topic: str) -> None:
    mq.topics.delete(topic)
    mq.topics.create(topic, flush="sync")


def _send(target: Target, messages: int) -> Speed:
    """Messages per second, each with a future of its own."""
    with _connect(target) as mq:
        _emptied(mq, "stream")
        producer = mq.producer(timeout=60)
        producer.send("stream", BODY)
        load = Load(messages)
        pending = [producer.send_async("stream", BODY) for _ in range(messages)]
        for each in pending:
            each.result(PATIENCE_SECONDS)
        return load.done()


def _handle(target: Target, messages: int) -> Speed:
    """Messages per second through a plain function, each acknowledged when it returned."""
    with _connect(target) as mq:
        _emptied(mq, "stream")
        mq.producer(timeout=60).send_batch("stream", [BODY] * messages)
        consumer = mq.consumer("stream", group="group", prefetch=1000)
        count = 0

        @consumer
        def handle(message: onemq.Message) -> None:
            nonlocal count
            count += len(message.body) > 0

        load = Load(messages)
        consumer.start()
        _wait_until(lambda: count == messages)
        consumer.flush()
        speed = load.done()
        consumer.stop()
        return speed


def _delays(target: Target, seconds: float) -> list[float]:
    """Seconds from the call of send to the call of the handler."""
    with _connect(target) as mq:
        _emptied(mq, "stream")
        delays: list[float] = []
        consumer = mq.consumer("stream", group="group")

        @consumer
        def handle(message: onemq.Message) -> None:
            delays.append(time.perf_counter() - float(message.body[:20]))

        producer = mq.producer(timeout=60)

        def send(count: int) -> None:
            for _ in range(count):
                producer.send_oneway("stream", _stamped())

        consumer.start()
        sent = _steadily(seconds, send)
        _wait_until(lambda: len(delays) == sent)
        return delays


# Redis.


def _redis(target: Target) -> redis.Redis:
    return redis.Redis(port=target.port, socket_timeout=PATIENCE_SECONDS)


def _redis_send(target: Target, messages: int) -> Speed:
    return max(_redis_send_in(target, messages, size) for size in PIPELINES)


def _redis_send_in(target: Target, messages: int, size: int) -> Speed:
    with _redis(target) as client:
        client.flushall()
        load = Load(messages)
        for _ in range(messages // size):
            pipeline = client.pipeline(transaction=False)
            for _ in range(size):
                pipeline.xadd("stream", {"body": BODY})
            pipeline.execute()
        return load.done()


def _redis_handle(target: Target, messages: int) -> Speed:
    _redis_send_in(target, messages, PIPELINES[-1])
    return max(_redis_handle_in(target, messages, size) for size in PIPELINES)


def _redis_handle_in(target: Target, messages: int, size: int) -> Speed:
    """Each read goes in one pipeline with the acknowledgement of what was read before."""
    with _redis(target) as client:
        client.xgroup_create("stream", f"group-{size}", "0")
        count, done = 0, list[Any]()
        load = Load(messages)
        while count < messages or done:
            pipeline = client.pipeline(transaction=False)
            pipeline.xreadgroup(f"group-{size}", "reader", {"stream": ">"}, count=size)
            if done:
                pipeline.xack("stream", f"group-{size}", *done)
            found = pipeline.execute()[0]
            done = []
            for id, fields in found[0][1] if found else ():
                count += len(fields[b"body"]) > 0
                done.append(id)
        return load.done()


def _redis_delays(target: Target, seconds: float) -> list[float]:
    with _redis(target) as client, _redis(target) as reading:
        client.flushall()
        client.xgroup_create("stream", "group", "$", mkstream=True)
        delays: list[float] = []
        ended = threading.Event()

        def read() -> None:
            while not ended.is_set():
                found = reading.xreadgroup("group", "reader", {"stream": ">"}, count=256, block=100)
                entries = found[0][1] if found else []
                now = time.perf_counter()
                delays.extend(now - float(fields[b"body"][:20]) for _, fields in entries)
                if entries:
                    reading.xack("stream", "group", *(id for id, _ in entries))

        def send(count: int) -> None:
            pipeline = client.pipeline(transaction=False)
            for _ in range(count):
                pipeline.xadd("stream", {"body": _stamped()})
            pipeline.execute()

        reader = threading.Thread(target=read)
        reader.start()
        sent = _steadily(seconds, send)
        _wait_until(lambda: len(delays) == sent)
        ended.set()
        reader.join()
        return delays


# Both.


def _stamped() -> bytes:
    """A body that tells when it was sent."""
    return (b"%020.9f" % time.perf_counter()).ljust(100, b"x")


def _steadily(seconds: float, send: Callable[[int], object]) -> int:
    """Sends at a steady rate; how many."""
    begun, sent = time.perf_counter(), 0
    while (gone := time.perf_counter() - begun) < seconds:
        due = int(gone * RATE) - sent
        if due > 0:
            send(due)
            sent += due
        time.sleep(TICK_SECONDS)
    return sent


def _wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.perf_counter() + PATIENCE_SECONDS
    while not condition():
        assert time.perf_counter() < give_up, "not everything arrived"
        time.sleep(0.01)


def _percentile_ms(delays: list[float], percent: int) -> float:
    return quantiles(delays, n=100)[percent - 1] * 1000
