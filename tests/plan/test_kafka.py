"""How a program speaks of records: which columns can be read from their values."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.plan.build.kafka import record_format

FLAT = (
    "a tinyint, b smallint, c int, d bigint, e float, f double, g decimal(10, 2), h string, "
    "i boolean, j date, k timestamp, l timestamp_ntz, m binary, `n o` int, größe int"
)
NESTED = (
    "a array<int>, b map<string, array<timestamp>>, c struct<d: map<string, struct<`e f`: int>>>"
)


@pytest.mark.parametrize(("format", "schema"), [("json", FLAT), ("csv", FLAT), ("json", NESTED)])
def test_records_hold_these_types(format: Any, schema: str) -> None:
    chosen, columns = record_format(format, schema)
    assert chosen == format
    assert columns == ms.read_kafka("scores", schema=schema, format=format).schema


@pytest.mark.parametrize(
    ("format", "type", "part"),
    [
        ("json", "interval", "INTERVAL"),
        ("json", "interval day to second", "INTERVAL DAY TO SECOND"),
        ("json", "variant", "VARIANT"),
        ("json", "char(5)", "CHAR(5)"),
        ("json", "map<int, string>", "MAP<INT, STRING>"),
        ("json", "array<variant>", "VARIANT"),
        ("json", "struct<a: int, b: map<string, array<interval month>>>", "INTERVAL MONTH"),
        ("json", "map<string, map<date, int>>", "MAP<DATE, INT>"),
        ("csv", "interval", "INTERVAL"),
        ("csv", "variant", "VARIANT"),
        ("csv", "varchar(5)", "VARCHAR(5)"),
        ("csv", "array<int>", "ARRAY<INT>"),
        ("csv", "map<string, int>", "MAP<STRING, INT>"),
        ("csv", "struct<a: int>", "STRUCT<a: INT>"),
    ],
)
def test_records_do_not_hold_others(format: Any, type: str, part: str) -> None:
    with pytest.raises(ms.PlanError, match="^MS111 in step 'kafka-1'") as caught:
        ms.read_kafka("scores", schema=f"n int, odd {type}", format=format)
    assert caught.value.what == f"column 'odd' has {part}, which {format} records cannot hold"
    keys = format == "json" and part.startswith("MAP")
    assert ("keys of the map STRING" if keys else "read STRING instead") in caught.value.fix


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb"])
def test_a_name_that_json_would_write_otherwise_is_no_column(format: Any, name: str) -> None:
    with pytest.raises(ms.PlanError, match="MS111.*in its name"):
        record_format(format, {name: int})


def test_a_function_makes_columns_of_any_type() -> None:
    rows = ms.read_kafka("scores", format=lambda record: {}, schema="m map<int, int>, v variant")
    assert str(rows.schema) == "m MAP<INT, INT>, v VARIANT"
