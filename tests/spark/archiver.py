"""A driver that tests start and kill: reads a topic on a cluster into Parquet files, micro-batch by micro-batch.

python -m tests.spark.archiver MASTER SERVERS TOPIC FOLDER
"""

import sys

from pyspark.sql import SparkSession

OFFSETS_PER_BATCH = 400


def main(master: str, servers: str, topic: str, folder: str) -> None:
    spark = (
        SparkSession.builder.master(master)
        .appName("archiver")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    options = {"servers": servers, "subscribe": topic, "startingOffsets": "earliest", "group": "archiver",
               "maxOffsetsPerTrigger": str(OFFSETS_PER_BATCH), "minPartitions": "2"}  # fmt: skip
    messages = spark.readStream.format("onemq").options(**options).load()
    rows = messages.selectExpr("partition", "offset", "CAST(value AS STRING) AS value")
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
