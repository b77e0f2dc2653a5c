"""Which sessions are of Spark Connect: PySpark has no public function for that."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.spark.compat.moved import has_module, moved

_PACKAGE = "pyspark.sql.connect"


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(spark).__module__.startswith(_PACKAGE)


def is_local(spark: SparkSession) -> bool:
    """Whether all that Spark does is done on this machine, as far as anyone can tell."""
    return not is_remote(spark) and str(spark.conf.get("spark.master", None)).startswith("local")


def check() -> None:
    if not has_module(_PACKAGE):
        raise moved(_PACKAGE)
