"""What the tests with Spark share: one session and one Java process for all of them, brokers, a real cluster.

pytest-xdist gives all of these tests to one worker (`--dist loadgroup`), so that only one session lives at a time.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyspark_onemq.connection import Connection
from tests.process import Serve
from tests.spark.cluster import Cluster
from tests.spark.source import Source

HERE = Path(__file__).parent

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["TZ"] = "UTC"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

# pyspark's own: it leaves its sockets to the garbage collector, and says of pandas that it is too new for it.
NOISE = [
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
    "ignore:distutils Version classes are deprecated:DeprecationWarning",
]


QUICK = {"test_connection.py", "test_readers.py", "test_reading.py"}
"""What `make test` runs; the others, which take minutes, run in `make spark`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            if item.path.name not in QUICK:
                item.add_marker(pytest.mark.long)
            for filter in NOISE:
                item.add_marker(pytest.mark.filterwarnings(filter))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session: local[2], as small as it goes."""
    folder = tmp_path_factory.mktemp("spark")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .appName("OneMQ tests")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.timezone=UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.execution.arrow.pyspark.enabled", "true")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.sql.streaming.pollingDelay", "10ms")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """A broker for the tests of one module; the topics of each test have names of their own."""
    with Serve(tmp_path_factory.mktemp("broker")) as serve:
        serve.wait_until_serving()
        yield serve


@pytest.fixture
def connection(broker: Serve) -> Iterator[Connection]:
    """A connection to the module's broker."""
    with Connection(f"127.0.0.1:{broker.port}") as connected:
        yield connected


@pytest.fixture
def source(spark: SparkSession, broker: Serve) -> Source:
    """The module's broker, read by the session."""
    return Source(spark, broker)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster: a master and two workers with a core each."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        running.wait_until_ready()
        yield running
