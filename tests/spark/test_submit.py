"""A pipeline under spark-submit, as a user of a broker that has users."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from onemq.pipelines import archive
from pyspark_onemq.connection import Connection, Refused
from tests.process import Serve
from tests.spark.source import send

SECONDS_MAX = 240


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Serve]:
    """A broker with one user."""
    config = tmp_path / "onemq.toml"
    config.write_text('[users]\nalice = "secret"\n')
    with Serve(tmp_path / "data", "--config", str(config)) as serve:
        serve.wait_until_serving()
        yield serve


def test_a_pipeline_runs_under_spark_submit_and_logs_in(tmp_path: Path, spark: SparkSession, guarded: Serve) -> None:
    servers, lake = f"127.0.0.1:{guarded.port}", tmp_path / "lake"
    with Connection(servers, "alice", "secret") as connection:
        send(connection, "orders", range(10))
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [submit, "--master", "local[1]", archive.__file__, "orders", "--to", lake.as_uri(), "--json"]
    command += ["--servers", servers, "--user", "alice", "--password", "secret"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stderr
    report = done.stdout.splitlines()[-1]  # spark-submit puts both outputs of Python into its own
    assert json.loads(report)["messages"] == 10
    assert spark.read.parquet(str(lake / "messages")).count() == 10


def test_who_does_not_log_in_is_told_how(guarded: Serve) -> None:
    with pytest.raises(Refused, match="has users: give the options user and password"):
        Connection(f"127.0.0.1:{guarded.port}").call("PING")
    with pytest.raises(Refused, match="invalid username-password pair"):
        Connection(f"127.0.0.1:{guarded.port}", "alice", "wrong").call("PING")
