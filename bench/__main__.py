"""Measures OneMQ on this machine: `make bench`, or `python -m bench --help`."""

import argparse
import gc
import resource
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench import append, connections, delayed, filter, kafka, resp, restart, sdk, spark
from bench.report import Result, machine, show, write
from onemq.cli.serve import GC_THRESHOLDS

BENCHES: dict[str, Callable[[str | None, bool], Iterator[Result]]] = {
    "group-commit": append.group_commit,
    "one-by-one": append.one_by_one,
    "ready-made": append.ready_made,
    "restart": restart.restart,
    "idle-connections": connections.idle_connections,
    "filter": filter.filtered,
    "sdk": sdk.compare,
    "delayed": delayed.delayed,
    "redis": resp.compare,
    "kafka": kafka.compare,
    "spark": spark.spark,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure OneMQ beside its targets.")
    parser.add_argument("names", nargs="*", help=f"what to measure (default: all): {', '.join(BENCHES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; numbers mean little")
    parser.add_argument(
        "--only", default="", help="of `redis` and `kafka`, only cases whose name contains this, or one of: this|that"
    )
    parser.add_argument("--runs", type=int, help="how many runs, of `kafka` at least; the medians count")
    parser.add_argument("--steady", action="store_true", help="of `kafka`, ten minutes at the full rate instead")
    parser.add_argument("--data", help="folder on the disk to measure (default: the system's temporary folder)")
    parser.add_argument("--json", help="where the numbers go (default: in bench-results: trunk, redis or kafka.json)")
    options = parser.parse_args()
    BENCHES["redis"] = partial(resp.compare, only=options.only, runs=options.runs or resp.RUNS)
    runs = options.runs or kafka.RUNS
    BENCHES["kafka"] = partial(kafka.compare, only=options.only, runs=runs, for_long=options.steady)
    unknown = set(options.names) - set(BENCHES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # as the server does
    gc.set_threshold(*GC_THRESHOLDS)  # as the server does
    where, results = machine(), []
    for name in options.names or BENCHES:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        results += BENCHES[name](options.data, options.quick)
    show(results, where)
    alone = options.names[0] if options.names in (["redis"], ["kafka"]) else "trunk"
    path = Path(options.json or f"bench-results/{alone}.json")
    write(results, where, path)
    print(f"written to {path}")
    return 0 if all(each.met is not False for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
