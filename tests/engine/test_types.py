"""Which Arrow type holds the values of a Spark type."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.engine.types import arrow_type


@pytest.mark.parametrize(
    ("type", "arrow"),
    [
        ("INT", pa.int32()),
        ("VARCHAR(3)", pa.large_string()),
        ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
        ("TIMESTAMP", pa.timestamp("us", "UTC")),
        ("ARRAY<BIGINT>", pa.list_(pa.int64())),
        ("MAP<STRING, DOUBLE>", pa.map_(pa.large_string(), pa.float64())),
        ("VARIANT", None),
        ("ARRAY<VARIANT>", None),
    ],
)
def test_a_type_of_spark_has_one_of_arrow_or_none(type, arrow):
    assert arrow_type(type) == arrow
