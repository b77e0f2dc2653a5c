"""Runs groupings on Spark Structured Streaming."""

from millstream.spark.compat.versions import check_pyspark

check_pyspark()
