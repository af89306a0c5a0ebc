"""The SparkSession that a pipeline runs in."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument, OneMQError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
INSTALL = "pip install 'onemq[spark]'"

SETTINGS = {
    # A date means the same on every machine, and timestamps are such that pandas, DuckDB and others read them.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
"""What every pipeline needs."""
LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    # Rows live shortly and nobody waits for a pause: reading a topic is a quarter quicker than with Java's default.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
"""What is better than Spark's defaults where everything runs in one process."""


def session(master: str | None = None, name: str = "onemq", settings: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, made if there is none yet.

    Without a master it is the one that spark-submit names, else `local[*]`. `settings` go before ours.
    Raises `OneMQError` if Spark or Java is missing.
    """
    check_installed()
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    from pyspark.sql import SparkSession

    under_submit = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = master or (None if under_submit else DEFAULT_MASTER)
    builder = SparkSession.builder.appName(name)
    if chosen is not None:
        builder = builder.master(chosen)
    is_local = chosen is not None and chosen.startswith("local")
    if is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for key, value in {**SETTINGS, **(LOCAL_SETTINGS if is_local else {}), **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def opened(master: str | None, name: str, conf: Sequence[str] | None = None) -> Iterator[SparkSession]:
    """The session for one command: stopped at the end, unless it was there before.

    What fails is told by the command in a sentence; `--conf spark.log.level=ERROR` shows where it came from.
    """
    settings = {"spark.log.level": "OFF", **parse_settings(conf or ())}
    check_installed()
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    was_there = SparkContext._active_spark_context is not None
    spark = (SparkSession.getActiveSession() if was_there else None) or session(master, name, settings)
    try:
        yield spark
    finally:
        if not was_there:
            spark.stop()


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """`spark.executor.memory=4g` and its like."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.startswith("spark."):
            raise InvalidArgument(f"--conf {pair}: a setting of Spark is written like spark.executor.memory=4g")
        settings[key] = value
    return settings


def check_installed() -> None:
    """Raises `OneMQError` that says what to install, if Spark cannot run here."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise OneMQError(f"pipelines run on Spark, which is not installed: {INSTALL}")
    if "PYSPARK_GATEWAY_PORT" not in os.environ and _java() is None:
        raise OneMQError(
            "Spark needs Java 17 or newer, and there is none on this machine: install it "
            "(apt-get install openjdk-17-jre-headless, or brew install openjdk@17), or set JAVA_HOME"
        )


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
