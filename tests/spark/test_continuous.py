"""A pipeline that goes on until it is asked to stop takes what comes meanwhile, and ends with its summary."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from pyspark_onemq.connection import Connection
from tests.process import Serve
from tests.spark.source import send

WAIT_SECONDS_MAX = 240


def is_hidden(file: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in file.parts)


def wait_for_files(folder: Path, count: int, process: "subprocess.Popen[str]") -> None:
    """Returns when so many Parquet files of a topic are where readers find them."""
    give_up = time.monotonic() + WAIT_SECONDS_MAX
    while len([each for each in folder.rglob("*.parquet") if not is_hidden(each.relative_to(folder))]) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up, "nothing is archived"
        time.sleep(0.1)


def test_archive_goes_on_with_what_comes_until_it_is_asked_to_stop(
    tmp_path: Path, spark: SparkSession, broker: Serve, connection: Connection
) -> None:
    send(connection, "endless", range(10))
    lake = tmp_path / "lake"
    words = ["archive", "endless", "--to", lake.as_uri(), "--continuous", "--interval", "1 second", "--json"]
    command = [sys.executable, "-m", "onemq", "pipeline", *words, "--servers", f"127.0.0.1:{broker.port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for_files(lake, 1, process)
            send(connection, "endless", range(10, 20))
            wait_for_files(lake, 2, process)
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=WAIT_SECONDS_MAX)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert json.loads(output), output
    rows = spark.read.parquet(str(next(lake.rglob("topic=endless")))).select("offset").collect()
    assert sorted(row["offset"] for row in rows) == list(range(20))
