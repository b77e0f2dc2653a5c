"""Spark SQL in programs: its functions, and what happens when Spark refuses or fails."""

from __future__ import annotations

from pyspark.sql import SparkSession

import millstream as ms
from millstream.plan.spark_functions import spark_functions


def test_the_known_functions_are_those_of_spark(spark: SparkSession) -> None:
    listed = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert spark_functions() == {name for name in listed if name.isidentifier()}


def test_a_registered_function_is_called_by_its_name_in_the_session(spark: SparkSession) -> None:
    spark.udf.register("twice", lambda n: 2 * n, "int")
    numbers = ms.from_rows([(1,), (2,)], schema="n int")
    job = numbers.with_columns(double="session.twice(n)").collect().run(spark=spark)
    assert job.rows() == [{"n": 1, "double": 2}, {"n": 2, "double": 4}]
