"""A declarative pipeline with OneMQ at both ends.

topic orders ──> placed (a table) ──┬──> revenue (a materialized view, computed anew by each run)
                                    └──> topic large-orders
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
SERVERS = spark.conf.get("spark.onemq.servers", "localhost:6379")
ORDER = "orderno BIGINT, customer STRING, amount DOUBLE, placed TIMESTAMP"


@dp.table(comment="Every order once, as it was sent.")
def placed() -> DataFrame:
    orders = (
        spark.readStream.format("onemq")
        .options(servers=SERVERS, subscribe="orders", startingOffsets="earliest", schema=ORDER)
        .load()
    )
    return orders.select("orderno", "customer", "amount", "placed", "partition", "offset")


@dp.materialized_view(comment="What each customer has spent.")
def revenue() -> DataFrame:
    return (
        spark.read.table("placed").groupBy("customer").agg(F.count("*").alias("orders"), F.sum("amount").alias("spent"))
    )


dp.create_sink("large_orders", "onemq", {"servers": SERVERS, "topic": "large-orders", "contentType": "json"})


@dp.append_flow(target="large_orders")
def large() -> DataFrame:
    """Orders of 100 and more, to a topic for whoever looks after good customers."""
    chosen = spark.readStream.table("placed").where("amount >= 100")
    return chosen.select(
        F.to_json(F.struct("orderno", "customer", "amount")).alias("value"), F.col("customer").alias("key")
    )
