"""The example of Spark Declarative Pipelines, run as its page says: a second run gives nothing twice."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark_onemq.connection import Connection
from tests.process import Serve
from tests.spark.source import send

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark-pipelines"
RUN_SECONDS_MAX = 300
PLACED = "2026-01-01T00:00:00Z"
RUN = ("run", "--conf", "spark.sql.catalogImplementation=hive")


def orders(first: int, last: int) -> list[str]:
    """Every tenth is a large one."""
    return [
        json.dumps({"orderno": each, "customer": "Ann", "amount": 1.0 if each % 10 else 100.0, "placed": PLACED})
        for each in range(first, last)
    ]


def run(project: Path) -> None:
    command = [Path(sys.executable).with_name("spark-pipelines"), *RUN]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, check=False
    )
    assert ended.returncode == 0, ended.stdout[-5_000:] + ended.stderr[-5_000:]


def large_orders(connection: Connection) -> list[int]:
    reply = connection.call("XRANGE", "large-orders", "-", "+")
    bodies = [fields[fields.index(b"body") + 1] for _, fields in reply]
    return sorted(json.loads(body)["orderno"] for body in bodies)


def test_a_run_takes_what_is_new_and_gives_each_message_once(
    tmp_path: Path, broker: Serve, connection: Connection
) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project)
    spec = project / "spark-pipeline.yml"
    text = spec.read_text().replace("localhost:6379", f"127.0.0.1:{broker.port}")
    spec.write_text(text.replace("/tmp/onemq/spark-pipelines/storage", str(tmp_path / "storage")))
    send(connection, "orders", orders(0, 50))
    run(project)
    assert large_orders(connection) == list(range(0, 50, 10))
    send(connection, "orders", orders(50, 100))
    run(project)
    assert large_orders(connection) == list(range(0, 100, 10))
