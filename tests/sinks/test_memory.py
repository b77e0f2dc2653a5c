"""What a sink keeps in memory comes back as the reference gives it, each batch once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.engine.python_rows import python_rows
from millstream.plan.targets import Memory
from millstream.sinks.kinds import sink_of
from millstream.sinks.memory import MemoryCommitter
from millstream.sinks.slices import Slice

NOON = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
TIMESTAMP = pa.timestamp("us", "UTC")


def receipt(batch: int, number: int, *tables: pa.Table) -> bytes:
    writer = sink_of("kept", Memory()).writer(Slice("a1b2c3d4", batch, number, attempt=0))
    for table in tables:
        writer.write(table)
    return writer.close()


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def kept(committer: MemoryCommitter) -> list[int]:
    return [row["n"] for row in committer.rows()]


def new_committer() -> MemoryCommitter:
    committer = sink_of("kept", Memory()).committer()
    assert isinstance(committer, MemoryCommitter)
    return committer


def test_rows_are_those_of_the_reference():
    schema = (
        "team string, points int, each decimal(10, 2), day date, raw binary, ok boolean, "
        "mean double, at timestamp, tags array<string>, by map<string, int>, who struct<age: int>"
    )
    row = {
        "team": "réd",
        "points": 3,
        "each": Decimal("1.50"),
        "day": date(2024, 5, 1),
        "raw": b"\x00\xff",
        "ok": True,
        "mean": 0.1,
        "at": NOON,
        "tags": ["a", None],
        "by": {"x": 1, "y": None},
        "who": {"age": 7},
    }
    rows = [row, dict.fromkeys(row)]
    types = {
        "by": pa.map_(pa.string(), pa.int32()),
        "at": TIMESTAMP,
        "each": pa.decimal128(10, 2),
        "points": pa.int32(),
    }
    columns = {name: [each[name] for each in rows] for name in row}
    table = pa.table({name: pa.array(of, types.get(name)) for name, of in columns.items()})
    committer = new_committer()
    committer.commit("a1b2c3d4", 0, [receipt(0, 0, table)])
    expected = ms.from_rows(rows, schema=schema).collect().run().rows()
    assert committer.rows() == expected
    assert [list(map(type, found.values())) for found in committer.rows()] == [
        list(map(type, found.values())) for found in expected
    ]


def test_timestamps_are_in_utc_wherever_they_are():
    window = pa.struct([("start", TIMESTAMP), ("end", TIMESTAMP)])
    paris = pa.timestamp("us", "Europe/Paris")
    table = pa.table(
        {
            "at": pa.array([NOON], TIMESTAMP),
            "there": pa.array([NOON], paris),
            "window": pa.array([{"start": NOON, "end": None}], window),
            "list": pa.array([[NOON]], pa.list_(TIMESTAMP)),
            "large": pa.array([[{"start": NOON, "end": NOON}]], pa.large_list(window)),
            "map": pa.array([[(NOON, NOON)]], pa.map_(TIMESTAMP, TIMESTAMP)),
        }
    )
    (row,) = python_rows(table)
    assert row == {
        "at": NOON,
        "there": NOON,
        "window": {"start": NOON, "end": None},
        "list": [NOON],
        "large": [{"start": NOON, "end": NOON}],
        "map": {NOON: NOON},
    }
    found = [row["at"], row["there"], row["window"]["start"], row["list"][0], *row["map"]]
    assert all(each.tzinfo is UTC for each in [*found, row["large"][0]["end"]])


def test_a_timestamp_without_zone_stays_without():
    local = datetime(2024, 5, 1, 12)
    assert python_rows(pa.table({"at": pa.array([local], pa.timestamp("us"))})) == [{"at": local}]


def test_columns_of_polars_become_values():
    frame = pl.DataFrame(
        {"timing": ["LATE"], "at": [NOON]}, schema_overrides={"timing": pl.Enum(["LATE"])}
    )
    assert python_rows(frame.to_arrow()) == [{"timing": "LATE", "at": NOON}]


def test_rows_come_in_the_order_of_batches_and_slices():
    committer = new_committer()
    committer.commit("a1b2c3d4", 10, [receipt(10, 256, numbers(6)), receipt(10, 2, numbers(4, 5))])
    committer.commit("a1b2c3d4", 9, [receipt(9, 0, numbers(1), numbers(), numbers(2, 3))])
    assert kept(committer) == [1, 2, 3, 4, 5, 6]


def test_a_retried_batch_replaces_its_rows():
    committer = new_committer()
    committer.commit("a1b2c3d4", 0, [receipt(0, 0, numbers(1)), receipt(0, 1, numbers(2))])
    committer.commit("a1b2c3d4", 1, [receipt(1, 0, numbers(3))])
    committer.commit("a1b2c3d4", 0, [receipt(0, 0, numbers(1, 2))])
    assert kept(committer) == [1, 2, 3]
    committer.commit("a1b2c3d4", 1, [])
    assert kept(committer) == [1, 2]


def test_slices_without_rows_have_an_empty_receipt():
    assert receipt(0, 0) == receipt(0, 0, numbers()) == b""
    committer = new_committer()
    committer.commit("a1b2c3d4", 0, [b"", b""])
    assert committer.rows() == []


def test_whoever_gets_the_rows_may_change_them():
    committer = new_committer()
    committer.commit("a1b2c3d4", 0, [receipt(0, 0, pa.table({"list": [[1]]}))])
    committer.rows()[0]["list"].append(2)
    assert committer.rows() == [{"list": [1]}]


def test_an_aborted_writer_forgets_its_rows():
    writer = sink_of("kept", Memory()).writer(Slice("a1b2c3d4", 0, 0, 0))
    writer.write(numbers(1))
    writer.abort()


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), max_size=5))))
def test_the_last_try_at_each_batch_is_what_is_kept(tries):
    committer, expected = new_committer(), {}
    for batch, rows in tries:
        halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        receipts = [receipt(batch, number, numbers(*half)) for number, half in enumerate(halves)]
        committer.commit("a1b2c3d4", batch, receipts[::-1])
        expected[batch] = rows
    assert kept(committer) == [row for _, rows in sorted(expected.items()) for row in rows]
