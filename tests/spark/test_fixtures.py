"""The session and the cluster that the other tests of this folder stand on."""

from pyspark.sql import SparkSession

from pyspark_onemq.connection import Connection
from tests.process import Serve
from tests.spark.cluster import Cluster


def test_the_session_counts(spark: SparkSession) -> None:
    assert spark.range(1000).selectExpr("sum(id) AS total").first()["total"] == 499500  # type: ignore[index]


def test_the_broker_answers(broker: Serve, connection: Connection) -> None:
    assert connection.call("MQ.SEND", "greetings", "hello")["offset"] == 0


def test_the_cluster_has_two_workers(cluster: Cluster) -> None:
    assert cluster.state()["aliveworkers"] == 2
