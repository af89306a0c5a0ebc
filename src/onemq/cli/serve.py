"""`onemq serve`: the process around a server."""

import asyncio
import gc
import os
import resource
import signal
from pathlib import Path

import uvloop

from onemq import logging
from onemq.config import Config
from onemq.memory import keep_large_blocks
from onemq.server import Server, memory_peak_bytes, raise_file_limit

GC_THRESHOLDS = (100_000, 50, 1_000)
"""What lives long is frozen at the start and the rest is mostly bytes, which the collector need not see."""


def run(config: Config) -> None:
    """Serves until a signal asks to stop, then closes cleanly. Fails with OneMQError."""
    logging.configure(config.server.log_format, config.server.log_level)
    raise_file_limit(config.server.max_connections)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(config))


async def _serve(config: Config) -> None:
    server = Server(config, memory_bytes, lingers=(os.cpu_count() or 1) > 1)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.ask_to_stop)
    await server.start()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    keep_large_blocks()
    await server.wait()
    await server.stop()


def memory_bytes() -> int:
    """The memory that the process has now; the most it has had, where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return memory_peak_bytes()
    return int(pages) * resource.getpagesize()
