"""Types of Spark as types of Arrow, and back: PySpark's own way is not public."""

from __future__ import annotations

import inspect

import pyarrow as pa
import pyspark.sql.pandas.types as pandas_types
from pyspark.sql.types import DataType, StructField, StructType

from millstream.spark.compat.moved import moved, reach


def arrow_field(field: StructField) -> pa.Field:
    """The field in Arrow; PySpark raises ``PySparkTypeError`` for a type that Arrow lacks."""
    return pandas_types.to_arrow_schema(StructType([field]), timezone="UTC").field(0)


def spark_type(kind: pa.DataType) -> DataType:
    """The type of Spark that values of a type of Arrow have."""
    return pandas_types.from_arrow_type(kind)


def check() -> None:
    to_schema = reach(pandas_types, "to_arrow_schema")
    if "timezone" not in inspect.signature(to_schema).parameters:
        raise moved("the timezone of pyspark.sql.pandas.types.to_arrow_schema")
    reach(pandas_types, "from_arrow_type")
