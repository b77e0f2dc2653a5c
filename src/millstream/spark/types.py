"""Types of Spark by their DDL, and the same types in Arrow."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.types import DataType, StructField, StructType

from millstream.model.errors import PlanError
from millstream.plan.build.frames import type_text
from millstream.spark.compat.arrow_types import arrow_field


def struct_of(ddl: str) -> StructType:
    """The types that a DDL text says."""
    struct = DataType.fromDDL(ddl)
    assert isinstance(struct, StructType)
    return struct


def arrow_of(struct: StructType) -> pa.Schema:
    """The same for Arrow."""
    return pa.schema([_arrow_field(field) for field in struct.fields])


def _arrow_field(field: StructField) -> pa.Field:
    try:
        return arrow_field(field)
    except PySparkTypeError:
        raise PlanError(
            "MS125",
            f"column {field.name!r} is {type_text(field.dataType).upper()}, which Python does not "
            "have",
            fix=f"convert it before: CAST({field.name} AS STRING), or drop it",
        ) from None
