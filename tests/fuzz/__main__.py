"""Runs the fuzz targets over many seeds: `make fuzz`, or `python -m tests.fuzz --help`."""

import argparse
import itertools
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from random import SystemRandom

from tests.fuzz import batches, filters, kafka_session, resp_decoder, resp_session

TARGETS: dict[str, Callable[[int], None]] = {
    "batches": batches.run,
    "filters": filters.run,
    "kafka-session": kafka_session.run,
    "resp-decoder": resp_decoder.run,
    "resp-session": resp_session.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Feed parsers what confuses them.")
    parser.add_argument("targets", nargs="*", help=f"what to fuzz (default: all): {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=float, help="stop after so long (default: until interrupted)")
    parser.add_argument("--seed", type=int, help="run this seed only")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    seeds: Iterator[int] = itertools.count(SystemRandom().randrange(1 << 40))
    if options.seed is not None:
        seeds = iter([options.seed])
    return run(options.targets or list(TARGETS), seeds, options.seconds)


def run(names: list[str], seeds: Iterator[int], seconds: float | None) -> int:
    """0 if all is well; else prints what happened and how to see it again."""
    started, done = time.monotonic(), 0
    try:
        for seed in seeds:
            for name in names:
                try:
                    TARGETS[name](seed)
                except Exception:
                    traceback.print_exc()
                    print(f"again: python -m tests.fuzz {name} --seed {seed}")
                    return 1
            done += 1
            if seconds is not None and time.monotonic() - started > seconds:
                break
    except KeyboardInterrupt:
        pass
    print(f"{done} seeds without a failure: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
