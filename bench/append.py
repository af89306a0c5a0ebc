"""Appending: group commit, messages one by one, and ready-made batches."""

import asyncio
import time
from collections.abc import Iterator
from operator import truediv
from statistics import median

from bench.broker import Threads, TurnLoop, fresh_core, turn_done
from bench.report import Result
from onemq.core.core import Core
from onemq.core.topics import TopicConfig
from onemq.log.batch_builder import BatchBuilder

BODY = b"x" * 100


def group_commit(parent: str | None, quick: bool) -> Iterator[Result]:
    """Writers that each wait for their reply, on sync topics. Medians of rounds in which each case has its turn: the
    machine and its disk are not as quick in one minute as in the next."""
    seconds, rounds = (0.5, 1) if quick else (1.0, 5)
    one, many, spread = [], [], []
    for _ in range(rounds):
        for rates, writers, topics in ((one, 1, 1), (many, 50, 1), (spread, 50, 1000)):
            with fresh_core(parent) as core:
                rates.append(asyncio.run(_closed_loop(core, writers, topics, seconds)))
    yield Result("sync, 1 writer", median(one), "messages/s", None)
    yield Result("sync, 50 writers", median(many), "messages/s", None)
    yield Result("sync, 50 writers over 1,000 topics", median(spread), "messages/s", None)
    yield Result("group commit: 50 writers / 1 writer", median(map(truediv, many, one)), "times", 10)
    yield Result("group commit: 1,000 topics / 1 topic", median(map(truediv, spread, many)), "times", 0.5)


async def _closed_loop(core: Core, writers: int, topics: int, seconds: float) -> float:
    core.tick(1)
    names = [f"topic-{number}" for number in range(topics)]
    for name in names:
        core.topics.create(name)
    for name in names:
        core.send(name, BODY)
    core.flush(turn_done)
    turns, sent = TurnLoop(core), 0
    stop = time.perf_counter() + seconds

    async def writer(number: int) -> None:
        nonlocal sent
        place = number * (topics // writers)
        while time.perf_counter() < stop:
            core.send(names[place % topics], BODY)
            await turns.durable()
            sent += 1
            place += 1

    started = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(writers)))
    return sent / (time.perf_counter() - started)


def one_by_one(parent: str | None, quick: bool) -> Iterator[Result]:
    """100-byte messages, one call each, in turns of 100. Medians of some runs."""
    count, runs = (100_000, 1) if quick else (400_000, 5)
    elapsed, cpu = [], []
    with fresh_core(parent) as core:
        core.tick(1)
        core.topics.create("fast", 1, TopicConfig(flush="async"))
        core.flush(turn_done)
        for number in range(runs):
            started, cpu_started = time.perf_counter(), time.process_time()
            _send_one_by_one(core, 2 + number * count // 100, count // 100)
            elapsed.append(time.perf_counter() - started)
            cpu.append(time.process_time() - cpu_started)
    yield Result("append one by one, 100 B, async", count / median(elapsed), "messages/s", 400_000)
    yield Result("append one by one, CPU", median(cpu) / count * 1e6, "µs/message", None, more_is_better=False)


def _send_one_by_one(core: Core, now_ms: int, turns: int) -> None:
    send = core.send
    for turn in range(turns):
        core.tick(now_ms + turn)
        for _ in range(100):
            send("fast", BODY)
        core.settle()
        core.flush(turn_done)


def ready_made(parent: str | None, quick: bool) -> Iterator[Result]:
    """Batches of 100 kB as a Kafka producer would send them; the rate after 1 GB and after 20 GB."""
    builder = BatchBuilder(0, 1)
    while len(batch := builder.seal()) < 100_000 - 200:
        builder.add(1, None, BODY, b"\x00")
    gigabytes = 2 if quick else 21
    rates, threads = [], Threads()
    with fresh_core(parent, threads) as core:
        core.tick(1)
        topic = core.topics.create("bulk", 1, TopicConfig(flush="async"))
        core.flush(turn_done)
        per_gigabyte = 1_000_000_000 // len(batch)
        for gigabyte in range(gigabytes):
            started = time.perf_counter()
            for turn in range(per_gigabyte):
                core.tick(2 + gigabyte * per_gigabyte + turn)
                core.sending.send_batch(topic, 0, batch)
                core.settle()
                core.flush(turn_done)
                threads.take_up()
            rates.append(per_gigabyte * len(batch) / (time.perf_counter() - started) / 1e6)
    yield Result("ready-made batches of 100 kB, async", sorted(rates)[len(rates) // 2], "MB/s", 300)
    yield Result("ready-made batches, slowest GB", min(rates), "MB/s", None)
    early, late = rates[1 : 1 + max(len(rates) // 7, 1)], rates[-max(len(rates) // 7, 1) :]
    yield Result(f"ready-made batches: after {gigabytes - 1} GB / after 1 GB", sum(late) / sum(early), "times", 0.9)
