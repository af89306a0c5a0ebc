"""Idle connections: what ten thousand clients that say nothing cost the broker."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.report import Result
from tests.crowd import crowd, resident_bytes
from tests.process import Serve


def idle_connections(parent: str | None, quick: bool) -> Iterator[Result]:
    """Memory per connection, after each was answered once."""
    count = 500 if quick else 10_000
    with tempfile.TemporaryDirectory(prefix="onemq-bench-", dir=parent) as folder:
        config = Path(folder) / "onemq.toml"
        config.write_text(f"[server]\nmax_connections = {count + 100}\n")
        with Serve(Path(folder) / "data", "--config", str(config)) as broker:
            broker.wait_until_serving()
            before = resident_bytes(broker.pid)
            with crowd(broker.port, count):
                each = (resident_bytes(broker.pid) - before) / count
    yield Result(f"memory of an idle connection, {count:,} of them", each / 1000, "kB", 20, False)
