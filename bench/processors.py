"""What the processes of a measurement take of the processors, which a busy machine changes less than rates (Linux)."""

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_CLOCK_SCHEDULER = 2
"""Which of a process's clocks: the one that counts nanoseconds on a processor."""


def process_seconds(process: int) -> float:
    """Processor time that all threads of a process have taken so far, exactly: /proc counts in steps of 10 ms, and some
    runs take no more than that."""
    return time.clock_gettime((~process << 3) | _CLOCK_SCHEDULER)  # as clock_getcpuclockid(3) makes it


def used(broker: int) -> dict[str, float]:
    """Processor seconds of the broker, and of Java and Python below this process."""
    parents, used = {}, {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            name, fields = _stat(each)
        except (OSError, ValueError, IndexError):
            continue
        parents[int(each.name)] = int(fields[1])
        used[int(each.name)] = (name, sum(map(int, fields[11:15])) / _TICKS)  # with children that have ended
    sums = {"broker_us": used[broker][1], "java_us": 0.0, "python_us": 0.0}
    for process, (name, seconds) in used.items():
        if process != broker and _is_below(process, os.getpid(), parents):
            sums["java_us" if name == "java" else "python_us"] += seconds
    return sums


def _stat(process: Path) -> tuple[str, list[str]]:
    head, _, rest = (process / "stat").read_text().rpartition(")")
    return head.partition("(")[2], rest.split()


def _is_below(process: int, top: int, parents: dict[int, int]) -> bool:
    while process in parents:
        process = parents[process]
        if process == top:
            return True
    return False
