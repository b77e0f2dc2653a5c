"""Types of Spark by their DDL, and the same types in Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import CalendarIntervalType, StructField, StructType

from millstream.model.errors import PlanError
from millstream.spark.types import arrow_of, struct_of


def test_types_are_the_same_in_arrow_and_instants_are_in_utc(spark):
    struct = struct_of("n int, at timestamp, tags array<string>, price decimal(10, 2)")
    assert arrow_of(struct) == pa.schema(
        [
            ("n", pa.int32()),
            ("at", pa.timestamp("us", "UTC")),
            ("tags", pa.list_(pa.string())),
            ("price", pa.decimal128(10, 2)),
        ]
    )


def test_a_type_that_python_does_not_have_is_refused_with_its_column():
    struct = StructType([StructField("span", CalendarIntervalType())])
    with pytest.raises(PlanError, match="MS125: column 'span' is INTERVAL.*") as caught:
        arrow_of(struct)
    assert "CAST(span AS STRING)" in caught.value.fix
