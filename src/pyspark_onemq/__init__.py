"""OneMQ in Spark: the data source `onemq`.

Spark finds a module named `pyspark_*` by itself and takes its `DefaultSource`, so nothing is registered and no jar
is needed: `spark.read.format("onemq").option("subscribe", "orders").load()`.
"""

from pyspark_onemq.source import OneMQDataSource

__all__ = ["DefaultSource", "OneMQDataSource"]

DefaultSource = OneMQDataSource
