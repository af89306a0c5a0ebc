"""OneMQ against Apache Kafka over Kafka's protocol, both loaded alike in the same run; see docs/benchmarks.md.

A case is a load with a size, a compression and a number of partitions. It is run several times, OneMQ and Kafka by
turns, and more often if the two are close: the client takes most of the processors and its runs scatter by a tenth and
more. Where a client starts quickly, a run of producing has slices, and the servers take turns by slices. What both were
sent is fetched several times, again by turns. The medians count, as they hold what a server does now and then, too; the
best runs stand beside them.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import harmonic_mean, mean, median, quantiles

from bench.kafka_load import Load, Run, c_consume, c_produce, client, java_consume, java_produce
from bench.kafka_servers import ASYNC, Servers, Target, apache_kafka, onemq, servers
from bench.kafka_steady import steady
from bench.report import Result, is_wanted
from tests.apache_kafka import missing

RUNS = 5
"""At least."""
RUNS_MAX = 15
FETCHES = 3
"""Of what one run has produced. They take less time than producing it, and scatter as much."""
NEAR = 0.05
"""Servers that are no further from each other, or whose middle halves of runs overlap, get all the runs there may be:
the median of few is not that exact."""
SYNC_RUNS = 3
"""Of the synced cases, which are far from their target."""
LATENCY_RUNS = 5
SIZES = (100, 1024)
COMPRESSIONS = ("none", "lz4")
PARTITIONS = (1, 12)
COUNTS = {100: 3_000_000, 1024: 600_000}
"""How many messages make one run, by size: some seconds."""
RATE = 20_000
TOPICS = 1_000

Measure = Callable[[Target, str, Load], Run]


@dataclass(frozen=True, slots=True)
class Client:
    """Who loads."""

    name: str
    produce: Measure
    consume: Measure
    slices: int
    """Of a run of producing. Which thread gets which processor is decided anew for each, and is worth up to a third of
    the rate: many short slices scatter much less than one long run. Java takes too long to start and to warm up."""


CLIENTS = (Client("Java", java_produce, java_consume, 1), Client("C", c_produce, c_consume, 6))


def compare(
    parent: str | None, quick: bool, only: str = "", runs: int = RUNS, for_long: bool = False
) -> Iterator[Result]:
    """All cases that are wanted (`is_wanted`); none, and it says why, without Apache Kafka. `for_long`: ten minutes at
    the full rate instead."""
    if problem := missing():
        print(problem, file=sys.stderr)
        return
    if for_long:
        with onemq(parent) as ours:
            yield from steady(ours, 20 if quick else 600)
        return
    with servers(parent) as both:
        if not quick:
            _warm(both)
        for load in _loads(quick):
            for client in CLIENTS:
                for mode, target in (("async", 1.0), ("sync", 0.5)):
                    yield from _bulk(both, client, mode, target, load, only, 1 if quick else runs)
        yield from _latency(both, only, quick)
        yield from _many_topics(both, only, quick)
    yield from _start(parent, only)


def _warm(both: Servers) -> None:
    """Java is slow until it has compiled what it runs; neither server is measured cold."""
    load = Load(100, "none", 12, COUNTS[100] // 3)
    for each in both:
        each.create("warm", load.partitions)
        c_produce(each, "warm", load)
        c_consume(each, "warm", load)
        each.delete("warm")


def _loads(quick: bool) -> Iterator[Load]:
    for size in SIZES:
        for compression in COMPRESSIONS:
            for partitions in PARTITIONS:
                yield Load(size, compression, partitions, COUNTS[size] // (20 if quick else 1))


def _bulk(
    both: Servers, client: Client, mode: str, target: float, load: Load, only: str, runs: int
) -> Iterator[Result]:
    """Produces, and reads it back where that does not depend on the mode."""
    words = f"{client.name}, {load.size} B, {load.compression}, {load.partitions} partitions"
    produce, fetch = f"Kafka: produce {mode}: {words}", f"Kafka: fetch: {words}"
    reads = mode == "async" and is_wanted(only, fetch)
    if not is_wanted(only, produce) and not reads:
        return
    produced: dict[str, list[Run]] = {"OneMQ": [], "Kafka": []}
    fetched: dict[str, list[Run]] = {"OneMQ": [], "Kafka": []}
    for run in range(_most(runs, mode)):
        if run >= runs and not _are_near(produced) and not (reads and _are_near(fetched)):
            break
        topic = f"bulk-{time.monotonic_ns()}"
        for each in both:
            each.create(topic, load.partitions, mode)
        for name, slices in _produced(both, client, topic, load, run).items():
            produced[name].append(_joined(slices))
        if reads:
            os.sync()  # else the system writes it to the disk some time later, in whoever's run that falls
        for number in range(FETCHES if reads else 0):
            for each in _by_turns(both, run + number):
                fetched[each.name].append(client.consume(each, topic, load))
        for each in both:
            each.delete(topic)
    yield from _ratios(produce, produced, target, 1.0 if mode == "async" else None)
    if reads:
        yield from _ratios(fetch, fetched, target, 1.0)


def _produced(both: Servers, client: Client, topic: str, load: Load, number: int) -> dict[str, list[Run]]:
    """One run by each: its slices."""
    part = replace(load, count=load.count // client.slices)
    slices: dict[str, list[Run]] = {each.name: [] for each in both}
    for turn in range(number, number + client.slices):
        for each in _by_turns(both, turn):
            each.touch_memory(part.megabytes)
            slices[each.name].append(client.produce(each, topic, part))
    return slices


def _joined(slices: list[Run]) -> Run:
    """The run of which these are the slices; all have as many messages."""
    return Run(harmonic_mean([each.mb_per_second for each in slices]), mean(each.cpu_ms_per_mb for each in slices))


def _by_turns(both: Servers, number: int) -> list[Target]:
    """Who comes first the first time, is second the next one."""
    return [both.ours, both.theirs] if number % 2 == 0 else [both.theirs, both.ours]


def _most(runs: int, mode: str) -> int:
    if runs == 1:
        return 1
    return RUNS_MAX if mode == "async" else min(runs, SYNC_RUNS)


def _are_near(runs: dict[str, list[Run]]) -> bool:
    """Whether it takes more runs to say which server is better."""
    ours, theirs = (quantiles([run.mb_per_second for run in each], n=4) for each in runs.values())
    return abs(ours[1] / theirs[1] - 1) <= NEAR or (ours[0] < theirs[2] and theirs[0] < ours[2])


def _ratios(name: str, runs: dict[str, list[Run]], target: float, cpu_target: float | None) -> Iterator[Result]:
    """The rate beside Kafka's, and the processor time beside Kafka's."""
    rates = [[run.mb_per_second for run in runs[each]] for each in ("OneMQ", "Kafka")]
    times = [[run.cpu_ms_per_mb for run in runs[each]] for each in ("OneMQ", "Kafka")]
    ours, theirs = map(median, rates)
    our_best, their_best = map(max, rates)
    our_cpu, their_cpu = map(median, times)
    print(
        f"  {name}: {ours:,.0f} against {theirs:,.0f} MB/s (at best {our_best:,.0f} against {their_best:,.0f}), "
        f"CPU {our_cpu:.2f} against {their_cpu:.2f} ms/MB (at least {min(times[0]):.2f} against {min(times[1]):.2f}), "
        f"{len(rates[0])} runs",
        file=sys.stderr,
        flush=True,
    )
    beside = {
        "ours_mb_rate": ours, "kafka_mb_rate": theirs, "ours_best_mb_rate": our_best, "kafka_best_mb_rate": their_best,
    }  # fmt: skip
    yield Result(name, ours / theirs, "of Kafka", target, beside=beside)
    beside = {
        "ours_cpu_ms": our_cpu, "kafka_cpu_ms": their_cpu,
        "ours_least_cpu_ms": min(times[0]), "kafka_least_cpu_ms": min(times[1]),
    }  # fmt: skip
    yield Result(f"{name}: CPU of the server", our_cpu / max(their_cpu, 1e-9), "of Kafka", cpu_target, False, beside)


def _latency(both: Servers, only: str, quick: bool) -> Iterator[Result]:
    name = f"Kafka: from produce to consume, {RATE:,} messages/s, 100 B: p99"
    if not is_wanted(only, name):
        return
    found: dict[str, list[dict[str, float]]] = {"OneMQ": [], "Kafka": []}
    for run in range(1 if quick else LATENCY_RUNS):
        for each in _by_turns(both, run):
            each.create("latency", 1)
            wanted = {"port": each.port, "topic": "latency", "rate": RATE, "seconds": 3 if quick else 10, "size": 100}
            found[each.name].append(client(do="follow", **wanted))
            each.delete("latency")
    ours, theirs = (
        {key: median(run[key] for run in found[each]) for key in ("p50_ms", "p99_ms")} for each in ("OneMQ", "Kafka")
    )
    beside = {f"ours_{key}": value for key, value in ours.items()}
    beside |= {f"kafka_{key}": value for key, value in theirs.items()}
    yield Result(name, ours["p99_ms"] / theirs["p99_ms"], "of Kafka", 1.0, False, beside)


def _many_topics(both: Servers, only: str, quick: bool) -> Iterator[Result]:
    topics = 50 if quick else TOPICS
    name = f"Kafka: {topics:,} topics of 4 partitions: "
    if not is_wanted(only, name + "metadata") and not is_wanted(only, name + "a group starts"):
        return
    found = {}
    for each in both:
        for first in range(0, topics, 50):
            each.create_all([f"many-{number}" for number in range(first, first + 50)], 4, _async(each))
        found[each.name] = client(do="start_group", port=each.port, topics=topics)
    for key, what in (("metadata_seconds", "metadata"), ("group_seconds", "a group starts")):
        beside = {"ours_s": found["OneMQ"][key], "kafka_s": found["Kafka"][key]}
        yield Result(name + what, found["OneMQ"][key], "s", 1.0, False, beside)


def _async(target: Target) -> dict[str, str]:
    return {"flush.messages": ASYNC} if target.name == "OneMQ" else {}


def _start(parent: str | None, only: str) -> Iterator[Result]:
    """Until metadata is told, and the memory that an idle server takes then."""
    started, idle = "Kafka: start-up", "Kafka: memory when idle"
    if not is_wanted(only, started) and not is_wanted(only, idle):
        return
    seconds, memory = [], []
    for serve in (onemq, apache_kafka):
        start = time.perf_counter()
        with serve(parent) as target:
            seconds.append(time.perf_counter() - start)
            memory.append(target.memory_mb())
    beside = {"ours_s": seconds[0], "kafka_s": seconds[1]}
    yield Result(started, seconds[0] / seconds[1], "of Kafka", 1.0, False, beside)
    yield Result(idle, memory[0] / memory[1], "of Kafka", 1.0, False, {"ours_mb": memory[0], "kafka_mb": memory[1]})
