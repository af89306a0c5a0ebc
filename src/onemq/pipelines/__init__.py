"""Data pipelines on Spark: each a small module of plain DataFrame code.

A pipeline has `run(spark, ...)`, which takes a SparkSession and plain values and returns a `Summary`, and
`main(argv)`, its command line. So the same module is `onemq pipeline archive`, `python -m onemq.pipelines.archive`,
what `spark-submit` takes, and a library. `registry.py` names them all.

No module here imports pyspark before a function that needs it is called: `--help` works without Spark.
"""
