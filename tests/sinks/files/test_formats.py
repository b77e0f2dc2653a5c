"""The content of files: as Spark writes it, and such that nothing is lost."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.python_rows import python_rows
from millstream.plan.targets import FileFormat, Files
from millstream.sinks.files.formats import encoder_of, settings_of

TIMESTAMP = pa.timestamp("us", "UTC")
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
JUST_BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)

# Each value, its type, and what Spark 4.2 writes for it to JSON, with nulls where it leaves
# them out; and for timestamps with microseconds, of which it loses some.
AS_SPARK_DOES: list[tuple[Any, pa.DataType, str]] = [
    (NEW_YEAR, TIMESTAMP, '"2024-01-01T00:00:00.000Z"'),
    (NEW_YEAR.replace(microsecond=123456), TIMESTAMP, '"2024-01-01T00:00:00.123456Z"'),
    (JUST_BEFORE_1970, TIMESTAMP, '"1969-12-31T23:59:59.999Z"'),
    (YEAR_1, TIMESTAMP, '"0001-01-01T00:00:00.000Z"'),
    (NEW_YEAR, pa.timestamp("us", "Europe/Paris"), '"2024-01-01T00:00:00.000Z"'),
    (datetime(2024, 1, 1, 0, 0, 0, 500000), pa.timestamp("us"), '"2024-01-01T00:00:00.500"'),
    (date(2024, 1, 2), pa.date32(), '"2024-01-02"'),
    (math.nan, pa.float64(), '"NaN"'),
    (math.inf, pa.float64(), '"Infinity"'),
    (-math.inf, pa.float32(), '"-Infinity"'),
    (1.5, pa.float32(), "1.5"),
    (0.1, pa.float32(), "0.1"),
    (0.1, pa.float64(), "0.1"),
    (123.0, pa.float64(), "123.0"),
    (Decimal("1.50"), pa.decimal128(10, 2), "1.50"),
    (Decimal(10) ** 30, pa.decimal128(38, 0), "1" + "0" * 30),
    (b"\x00\x01\xff", pa.binary(), '"AAH/"'),
    ('äß"\\ \n\t€😀/', pa.string(), '"äß\\"\\\\ \\n\\t€😀/"'),
    ("\x01\x7f\u2028</script>", pa.large_string(), '"\\u0001\x7f\u2028</script>"'),
    (True, pa.bool_(), "true"),
    (-7, pa.int8(), "-7"),
    (2**63 - 1, pa.int64(), "9223372036854775807"),
    ([1, None, 3], pa.list_(pa.int32()), "[1,null,3]"),
    ([], pa.list_(pa.int32()), "[]"),
    ([{"x": 1}], pa.list_(pa.struct([("x", pa.int32())])), '[{"x":1}]'),
    ([("k", 1), ("l", None)], pa.map_(pa.string(), pa.int32()), '{"k":1,"l":null}'),
    ([(1, "x")], pa.map_(pa.int32(), pa.string()), '{"1":"x"}'),
    ({"a": None, "b": ""}, pa.struct([("a", pa.int32()), ("b", pa.string())]), '{"a":null,"b":""}'),
    ("ON_TIME", pa.dictionary(pa.int8(), pa.string()), '"ON_TIME"'),
    (None, pa.string(), "null"),
    (None, pa.null(), "null"),
]


def encoded(format: FileFormat, *tables: pa.Table, **options: str) -> bytes:
    buffer = pa.BufferOutputStream()
    settings = settings_of(Files("/out", format, tuple(options.items())))
    encoder = encoder_of(settings, buffer)
    for table in tables:
        encoder.write(table)
    encoder.close()
    return buffer.getvalue().to_pybytes()


def lines(format: FileFormat, *tables: pa.Table, **options: str) -> str:
    return encoded(format, *tables, **options).decode()


@pytest.mark.parametrize(("value", "type", "expected"), AS_SPARK_DOES)
def test_json_is_what_spark_writes(value, type, expected):
    table = pa.table({"v": pa.array([value], type)})
    assert lines("json", table) == f'{{"v":{expected}}}\n'


def test_json_has_an_object_in_each_line():
    window = {"start": NEW_YEAR, "end": None}
    struct = pa.struct([("start", TIMESTAMP), ("end", TIMESTAMP)])
    table = pa.table({"näme": ["red", None], "window": pa.array([window, None], struct)})
    assert lines("json", table, table.slice(1)) == (
        '{"näme":"red","window":{"start":"2024-01-01T00:00:00.000Z","end":null}}\n'
        '{"näme":null,"window":null}\n'
        '{"näme":null,"window":null}\n'
    )


# A line ends in one character only, and each of these would break one who splits at more.
texts = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from('",;\\\r\n\t\x0b\x85\u2028 '))
)
names = texts.filter(lambda name: name and "\0" not in name) | st.sampled_from(["*", "^.*$"])
instants = st.datetimes(timezones=st.just(UTC))
leaves = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.large_string(), texts),
    (pa.large_binary(), st.binary()),
    (pa.date32(), st.dates()),
    (TIMESTAMP, instants),
    (pa.timestamp("us"), st.datetimes()),
    (pa.decimal128(10, 2), st.decimals(-(10**7), 10**7, places=2)),
]
Typed = tuple[pa.DataType, st.SearchStrategy[Any]]


def or_null(typed: Typed) -> Typed:
    type, values = typed
    return type, st.none() | values


def list_of(typed: Typed) -> Typed:
    type, values = or_null(typed)
    return pa.list_(type), st.lists(values, max_size=3)


def struct_of(fields: list[Typed]) -> Typed:
    named = {f"f{n}": or_null(each) for n, each in enumerate(fields)}
    return (
        pa.struct([(name, type) for name, (type, _) in named.items()]),
        st.fixed_dictionaries({name: values for name, (_, values) in named.items()}),
    )


def map_to(typed: Typed) -> Typed:
    type, values = or_null(typed)
    entries = st.dictionaries(texts, values, max_size=3).map(lambda each: list(each.items()))
    return pa.map_(pa.large_string(), type), entries


types = st.recursive(
    st.sampled_from(leaves),
    lambda inner: st.one_of(
        inner.map(list_of),
        st.lists(inner, min_size=1, max_size=3).map(struct_of),
        inner.map(map_to),
    ),
    max_leaves=4,
)


@st.composite
def tables(draw: Any) -> pa.Table:
    columns = {}
    size = draw(st.integers(1, 4))
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        type, values = or_null(draw(types))
        columns[name] = pa.array(draw(st.lists(values, min_size=size, max_size=size)), type)
    return pa.table(columns)


def in_json(value: Any) -> Any:
    """What a reader of JSON must find for a value."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float() | Decimal():
            return float(value)
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return value
        case date():
            return value.isoformat()
        case list():
            return [in_json(each) for each in value]
        case dict():
            return {key: in_json(each) for key, each in value.items()}
    raise AssertionError(value)


def as_found(expected: Any, found: Any) -> Any:
    """What was found, with texts where timestamps are expected read as such."""
    match expected, found:
        case (datetime(), str()):
            assert found.endswith("Z") == (expected.tzinfo is not None)
            return datetime.fromisoformat(found)
        case (list(), list()) if len(expected) == len(found):
            return [as_found(*each) for each in zip(expected, found, strict=True)]
        case (dict(), dict()) if expected.keys() == found.keys():
            return {key: as_found(each, found[key]) for key, each in expected.items()}
        case (float(), float()):  # of 32 bits: the shortest text names the same number
            return expected if math.isclose(expected, found, rel_tol=1e-6) else found
    return found


@given(tables())
def test_json_holds_every_value(table):
    expected = [in_json(row) for row in python_rows(table)]
    found = [json.loads(line) for line in lines("json", table).split("\n")[:-1]]
    assert as_found(expected, found) == expected


@given(st.lists(st.tuples(st.none() | texts, st.none() | texts), min_size=1), names)
def test_csv_holds_every_text_and_null_is_not_empty(rows, name):
    table = pa.table(
        {
            name: pa.array([row[0] for row in rows], pa.string()),
            f"{name}2": pa.array([row[1] for row in rows], pa.string()),
        }
    )
    written = lines("csv", table)
    header, *found = csv.reader(io.StringIO(written, newline=""), strict=True)
    assert header == [name, f"{name}2"]
    assert [tuple(row) for row in found] == [tuple(text or "" for text in row) for row in rows]
    # Python's reader does not say whether an empty value had quotes; Polars does.
    read = pl.read_csv(written.encode(), infer_schema=False)
    assert read.rows() == rows


def test_csv_is_plain():
    table = pa.table(
        {
            "team": ["red", 'a "b", c', "", None, "two\nlines"],
            "total": [1, None, 3, -4, 5],
            "mean": [0.5, math.nan, math.inf, -math.inf, None],
            "at": pa.array([NEW_YEAR] * 5, TIMESTAMP),
            "day": [date(2024, 1, 2)] * 5,
            "ok": [True, False, None, True, True],
            "price": [Decimal("1.50")] * 5,
        }
    )
    rest = "2024-01-01T00:00:00.000Z,2024-01-02"
    assert lines("csv", table.slice(0, 2), table.slice(2)) == (
        "team,total,mean,at,day,ok,price\n"
        f"red,1,0.5,{rest},true,1.50\n"
        f'"a ""b"", c",,NaN,{rest},false,1.50\n'
        f'"",3,Infinity,{rest},,1.50\n'
        f",-4,-Infinity,{rest},true,1.50\n"
        f'"two\nlines",5,,{rest},true,1.50\n'
    )


def test_csv_can_do_without_header_and_with_another_separator():
    table = pa.table({"a": ["x;y", "x,y"], "b": [1, 2]})
    assert lines("csv", table, header="false", sep=";") == '"x;y";1\nx,y;2\n'


def test_csv_keeps_the_rows_of_an_only_column_that_are_null():
    # Readers skip lines without anything; Spark writes "" here as well.
    assert lines("csv", pa.table({"a": [None, "x", ""]})) == 'a\n""\nx\n""\n'


def test_text_has_a_line_for_each_row():
    table = pa.table({"line": ["a", None, "", "b\nc", "ä"]})
    assert lines("text", table, table.slice(4)) == "a\n\n\nb\nc\nä\nä\n"


@given(tables())
def test_parquet_holds_every_value(table):
    made = pq.read_table(pa.BufferReader(encoded("parquet", table, table)))
    assert repr(python_rows(made)) == repr(python_rows(table) * 2)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "none"])
def test_parquet_is_compressed_as_asked(compression):
    table = pa.table({"n": [1] * 100})
    made = pq.ParquetFile(pa.BufferReader(encoded("parquet", table, compression=compression)))
    found = made.metadata.row_group(0).column(0).compression.lower()
    assert found == {"none": "uncompressed"}.get(compression, compression)


def test_parquet_is_compressed_with_zstd_unless_asked():
    made = pq.ParquetFile(pa.BufferReader(encoded("parquet", pa.table({"n": [1]}))))
    assert made.metadata.row_group(0).column(0).compression == "ZSTD"


def test_timestamps_in_parquet_are_instants():
    table = pa.table({"at": pa.array([NEW_YEAR + timedelta(microseconds=1)], TIMESTAMP)})
    made = pq.ParquetFile(pa.BufferReader(encoded("parquet", table)))
    logical = json.loads(made.schema.column(0).logical_type.to_json())
    assert (logical["isAdjustedToUTC"], logical["timeUnit"]) == (True, "microseconds")


@pytest.mark.parametrize(
    ("format", "options", "ending"),
    [
        ("parquet", {}, "parquet"),
        ("parquet", {"compression": "gzip"}, "parquet"),
        ("json", {}, "json"),
        ("json", {"compression": "gzip"}, "json.gz"),
        ("csv", {"compression": "gzip", "header": "false"}, "csv.gz"),
        ("text", {"compression": "none"}, "txt"),
    ],
)
def test_names_end_as_readers_expect(format, options, ending):
    assert settings_of(Files("/out", format, tuple(options.items()))).ending == ending


def test_a_compressed_file_is_one(tmp_path):
    from millstream.sinks.kinds import sink_of
    from millstream.sinks.slices import Slice

    target = Files(str(tmp_path), "json", (("compression", "gzip"),))
    writer = sink_of("out", target).writer(Slice("a1b2c3d4", 0, 0, 0))
    writer.write(pa.table({"n": [1]}))
    sink_of("out", target).committer().commit("a1b2c3d4", 0, [writer.close()])
    (file,) = tmp_path.glob("part-*")
    assert file.suffixes == [".json", ".gz"]
    assert gzip.decompress(file.read_bytes()) == b'{"n":1}\n'
