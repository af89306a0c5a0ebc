"""OneMQ against Redis over the Redis protocol, both loaded alike in the same run; see docs/benchmarks.md.

A case is a request with so many connections and so many requests of each under way (its depth). It is run
several times, OneMQ and Redis by turns, each with as much of the machine's memory at hand as it will need; the numbers
are medians. The disk changes its speed within seconds, so what is synced has its runs in slices, and the servers take
turns by slices.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import harmonic_mean, mean, median

import redis

from bench.report import Result, is_wanted
from bench.resp_load import Run, Target, drive, encode, redis_benchmark
from bench.resp_servers import Servers, servers

VALUE = "x" * 100
ADDING = ["XADD", "stream", "*", "field", VALUE]
DEPTHS = (1, 16, 100)
REQUESTS = {1: 60_000, 16: 300_000, 100: 500_000}
"""How many make one run, by depth: one to three seconds."""
SYNCED = ((1, 1, 0.9, 20_000), (16, 1, 0.9, 50_000), (50, 1, 0.9, 100_000), (50, 16, 1.2, 500_000))
"""Connections, depth, target and how many, of the synced cases."""
RUNS = 5
SYNCED_SLICES = 10
"""So many make one run."""
BATCH = 100

@dataclass(frozen=True, slots=True)
class Case:
    """What is measured, and how much of Redis's rate it must reach."""

    name: str
    target: float
    mode: str
    measure: Callable[[Target], Run]
    """Empties and fills the server as the case needs it, and then measures one slice."""
    slices: int = 1
    """Of a run."""


def compare(parent: str | None, quick: bool, only: str = "", runs: int = RUNS) -> Iterator[Result]:
    """All cases that are wanted (`is_wanted`); none, and it says why, without Redis's programs."""
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        print("redis-server or redis-benchmark is missing: apt-get install redis-server", file=sys.stderr)
        return
    for mode in ("async", "sync"):
        chosen = [case for case in _cases(0.1 if quick else 1.0) if case.mode == mode and is_wanted(only, case.name)]
        if chosen:
            with servers(mode, parent) as both:
                for case in chosen:
                    yield _measured(case, both, 1 if quick else runs)
    yield from _memory(parent, quick, only)


def _cases(share: float) -> Iterator[Case]:
    """Every case; `share` makes the runs shorter."""

    def requests(depth: int) -> int:
        return int(REQUESTS[depth] * share)

    for depth, target in zip(DEPTHS, (0.8, 0.8, 0.8), strict=True):
        yield _fixed("XADD", target, depth, requests(depth), ADDING)
    for depth, target in zip(DEPTHS, (0.85, 0.9, 1.0), strict=True):
        yield _fixed("LPUSH", target, depth, requests(depth), ["LPUSH", "list", VALUE])
        yield _fixed("RPOP", target, depth, requests(depth), ["RPOP", "list"], _fill_list)
    for depth, target in zip(DEPTHS, (0.8, 1.0, 1.0), strict=True):
        yield _acknowledging("XACK of 1 id", target, depth, requests(depth), 1)
    calls = requests(100) // BATCH
    words = ["XREADGROUP", "GROUP", "group", "reader", "COUNT", str(BATCH), "STREAMS", "stream", ">"]
    yield _fixed("XREADGROUP COUNT 100", 2.0, 1, calls, words, lambda target, n: _fill_group(target, n * BATCH), BATCH)
    yield _acknowledging("XACK of 100 ids", 1.0, 1, calls, BATCH)
    for connections, depth, target, count in SYNCED:
        yield _synced(connections, depth, target, int(count * share))


def _fixed(
    name: str,
    target: float,
    depth: int,
    requests: int,
    words: list[str],
    fill: Callable[[Target, int], None] | None = None,
    each: int = 1,
) -> Case:
    """Of a request that is always the same, for so many messages each."""

    def measure(server: Target) -> Run:
        _empty(server)
        if fill is not None:
            fill(server, requests)
        server.touch_memory(requests * each)
        return redis_benchmark(server, words, requests, 50, depth)

    return Case(f"{name}, depth {depth}", target, "async", measure)


def _acknowledging(name: str, target: float, depth: int, requests: int, ids: int) -> Case:
    """Every id is pending and is acknowledged once."""

    def measure(server: Target) -> Run:
        _empty(server)
        _fill_group(server, requests * ids)
        pending = _read_all(server)
        assert len(pending) == requests * ids
        words = [encode(b"XACK", b"stream", b"group", *pending[at : at + ids]) for at in range(0, len(pending), ids)]
        server.touch_memory(len(pending))
        return drive(server, words, 50, depth)

    return Case(f"{name}, depth {depth}", target, "async", measure)


def _synced(connections: int, depth: int, target: float, requests: int) -> Case:
    def measure(server: Target) -> Run:
        _empty(server)
        server.touch_memory(requests // SYNCED_SLICES)
        return redis_benchmark(server, ADDING, requests // SYNCED_SLICES, connections, depth)

    plural = "connection" if connections == 1 else "connections"
    return Case(f"XADD synced, {connections} {plural}, depth {depth}", target, "sync", measure, SYNCED_SLICES)


def _measured(case: Case, both: Servers, runs: int) -> Result:
    """The comparison; a case that fails says why and counts as missed, and the others go on."""
    try:
        return _compared(case, both, runs)
    except (RuntimeError, OSError, redis.RedisError) as error:
        print(f"  {case.name}: {error}", file=sys.stderr, flush=True)
        return Result(case.name, 0.0, "times Redis", case.target)


def _compared(case: Case, both: Servers, runs: int) -> Result:
    found: dict[Target, list[Run]] = {server: [] for server in both}
    for number in range(runs * case.slices):
        for server in both if number % 2 == 0 else reversed(both):
            found[server].append(case.measure(server))
    ours, theirs = (_median(_joined(found[server], case.slices)) for server in both)
    print(f"  {case.name}: {ours.rate:,.0f} against {theirs.rate:,.0f}", file=sys.stderr, flush=True)
    for server in both:
        _empty(server)
    beside = {f"ours_{name}": value for name, value in ours._asdict().items()}
    beside |= {f"redis_{name}": value for name, value in theirs._asdict().items()}
    return Result(case.name, ours.rate / theirs.rate, "times Redis", case.target, beside=beside)


def _joined(slices: list[Run], of_each: int) -> list[Run]:
    """The runs of which these are the slices, in order; all slices of a run have as many requests."""
    runs = [slices[at : at + of_each] for at in range(0, len(slices), of_each)]
    return [_mean(run)._replace(rate=harmonic_mean([each.rate for each in run])) for run in runs]


def _mean(runs: list[Run]) -> Run:
    return Run(*map(mean, zip(*runs, strict=True)))


def _median(runs: list[Run]) -> Run:
    return Run(*map(median, zip(*runs, strict=True)))


# Preparing both servers alike.


def _empty(server: Target) -> None:
    with redis.Redis(port=server.port, socket_timeout=60) as client:
        client.flushall()


def _fill_list(server: Target, count: int) -> None:
    values = [VALUE.encode()] * BATCH
    drive(server, [encode(b"LPUSH", b"list", *values)] * -(-count // BATCH), 1, 10)


def _fill_group(server: Target, count: int) -> None:
    """A stream of so many entries, and a group that has read none."""
    redis_benchmark(server, ADDING, count, 50, 100)
    with redis.Redis(port=server.port, socket_timeout=60) as client:
        client.xgroup_create("stream", "group", "0")


def _read_all(server: Target) -> list[bytes]:
    """Makes all entries pending; their ids."""
    ids: list[bytes] = []
    with redis.Redis(port=server.port, socket_timeout=60, protocol=2) as client:
        client.response_callbacks.clear()
        words = ["XREADGROUP", "GROUP", "group", "reader", "COUNT", "10000", "STREAMS", "stream", ">"]
        while found := client.execute_command(*words):
            ((_, entries),) = found
            ids += [entry[0] for entry in entries]
    return ids


# Memory.


def _memory(parent: str | None, quick: bool, only: str) -> Iterator[Result]:
    entries = 100_000 if quick else 1_000_000
    name = f"memory of {entries:,} entries of 100 B"
    if is_wanted(only, name):
        with servers("async", parent) as both:
            grown = [_grown(server, entries) for server in both]
        beside = {"ours_mb": grown[0], "redis_mb": grown[1]}
        yield Result(name, grown[0] / grown[1], "times Redis", 1.2, more_is_better=False, beside=beside)
    name = f"growth with {entries:,} consumed and trimmed entries"
    if is_wanted(only, name):
        with servers("async", parent) as both:
            grown = [_grown_by_rounds(server, entries // 10) for server in both]
        beside = {"ours_mb": grown[0], "redis_mb": grown[1]}
        yield Result(name, grown[0], "MB", 5.0, more_is_better=False, beside=beside)


def _grown(server: Target, entries: int) -> float:
    """Megabytes that a stream of so many entries takes."""
    redis_benchmark(server, ["XADD", "warm", "*", "field", VALUE], 1000, 50, 16)
    before = server.resident_mb()
    redis_benchmark(server, ADDING, entries, 50, 100)
    return server.resident_mb() - before


def _grown_by_rounds(server: Target, entries: int, rounds: int = 10, settled: int = 5) -> float:
    """Megabytes more after rounds of adding, reading, acknowledging and trimming than after the first few."""
    after_first = 0.0
    with redis.Redis(port=server.port, socket_timeout=60) as client:
        client.xgroup_create("stream", "group", "0", mkstream=True)
        for number in range(rounds + settled):
            redis_benchmark(server, ADDING, entries, 50, 100)
            while found := client.xreadgroup("group", "reader", {"stream": ">"}, count=5000):
                read = found["stream"][0] if isinstance(found, dict) else found[0][1]
                client.xack("stream", "group", *(each[0] for each in read))
            client.xtrim("stream", maxlen=0, approximate=False)
            if number == settled - 1:
                after_first = server.resident_mb()
    return server.resident_mb() - after_first
