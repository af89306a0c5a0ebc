"""Measures OneMQ on this machine: `make bench`, or `python -m bench --help`."""

import argparse
import gc
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import append, restart
from bench.report import Result, machine, show, write
from onemq.cli.serve import GC_THRESHOLDS

BENCHES: dict[str, Callable[[str | None, bool], Iterator[Result]]] = {
    "group-commit": append.group_commit,
    "one-by-one": append.one_by_one,
    "ready-made": append.ready_made,
    "restart": restart.restart,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure OneMQ beside its targets.")
    parser.add_argument("names", nargs="*", help=f"what to measure (default: all): {', '.join(BENCHES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; numbers mean little")
    parser.add_argument("--data", help="folder on the disk to measure (default: the system's temporary folder)")
    parser.add_argument("--json", default="bench-results/trunk.json", help="where the numbers go")
    options = parser.parse_args()
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
    write(results, where, Path(options.json))
    print(f"written to {options.json}")
    return 0 if all(each.met is not False for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
