"""Runs groupings on Spark Structured Streaming."""

from millstream.spark.versions import check_pyspark

check_pyspark()
