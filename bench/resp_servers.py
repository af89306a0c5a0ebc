"""OneMQ and redis-server on the same disk, for the same load."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import redis

from bench.resp_load import Target
from tests.interop.pair import redis_server
from tests.process import Serve

MODES = {
    "async": ("async", ("--appendonly", "yes", "--appendfsync", "everysec")),
    "sync": ("sync", ("--appendonly", "yes", "--appendfsync", "always")),
}
"""OneMQ's `flush`, and what Redis is told to be as durable."""

NO_REWRITING = ("--auto-aof-rewrite-percentage", "0")
"""Redis would rewrite its file in a second process from 64 MB on; that is left out, in its favour."""


class Servers(NamedTuple):
    """Both, ready."""

    ours: Target
    theirs: Target


@contextmanager
def servers(mode: str, parent: str | None) -> Iterator[Servers]:
    """Both servers with empty folders, which are removed afterwards."""
    flush, redis_options = MODES[mode]
    folder = Path(tempfile.mkdtemp(prefix="onemq-bench-", dir=parent))
    (folder / "redis").mkdir()
    config = folder / "onemq.toml"
    config.write_text(f'[server]\nlog_level = "warning"\n[log]\nflush = "{flush}"\n')
    try:
        with Serve(folder / "onemq", "--config", str(config)) as broker:
            broker.wait_until_serving()
            with redis_server(folder / "redis", *redis_options, *NO_REWRITING) as port:
                pid = redis.Redis(port=port).info("server")["process_id"]
                yield Servers(
                    Target("OneMQ", broker.port, broker.pid, folder), Target("Redis", port, pid, folder)
                )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
