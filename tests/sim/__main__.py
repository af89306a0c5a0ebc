"""Runs the simulation over many seeds: `python -m tests.sim --help`."""

import argparse
import itertools
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from random import SystemRandom

from tests.sim.disk import Crash
from tests.sim.world import World

SECONDS_MAX = 120
"""One life takes a fraction of a second: one that does not end hangs."""


def _too_long(*_: object) -> None:
    raise TimeoutError(f"not finished after {SECONDS_MAX} s")


def run_seed(job: tuple[int, int]) -> tuple[int, str | None, int]:
    """(seed, what went wrong, restarts) of one life."""
    seed, turns = job
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS_MAX)
    try:
        world = World(seed, turns)
        world.run()
    except (Exception, Crash):
        return seed, traceback.format_exc(), 0
    return seed, None, world.restarts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description="Simulate OneMQ with crashes, from seeds.")
    parser.add_argument("--seeds", type=int, default=2000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this seed only")
    parser.add_argument("--forever", action="store_true", help="run fresh seeds until interrupted")
    parser.add_argument("--turns", type=int, default=150, help="turns of each life")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count(), help="processes")
    options = parser.parse_args()
    if options.seed is not None:
        options.first, options.seeds, options.jobs = options.seed, 1, 1
    seeds: Iterator[int] = iter(range(options.first, options.first + options.seeds))
    if options.forever:
        seeds = itertools.count(SystemRandom().randrange(1 << 40))
    return run(seeds, options)


def run(seeds: Iterator[int], options: argparse.Namespace) -> int:
    started, passed, restarts = time.monotonic(), 0, 0
    jobs = ((seed, options.turns) for seed in seeds)
    with multiprocessing.Pool(options.jobs) as pool:
        for seed, problem, count in pool.imap_unordered(run_seed, jobs, chunksize=4):
            if problem is not None:
                print(problem)
                print(f"seed {seed} failed; run it again: python -m tests.sim --seed {seed} --turns {options.turns}")
                pool.terminate()
                return 1
            passed, restarts = passed + 1, restarts + count
            if passed % 500 == 0:
                print(f"{passed} seeds passed, {restarts} restarts, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
