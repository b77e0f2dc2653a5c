"""Values of Kafka records become columns; a record that cannot be decoded is rejected."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa

import millstream as ms
from millstream.engine.rows import with_time
from millstream.spark.worker.tasks.decode import Decode
from millstream.spark.worker.tasks.task import Task

AT = datetime(2026, 11, 18, tzinfo=UTC)


class Run:
    def __init__(self, records=None):
        self.rejected = []
        self.records = records

    def reject(self, step, rows, tasks):
        self.rejected += rows.select("step", "reason", "record").rows()


class Keeps(Task):
    def take(self, rows, run):
        self.rows = rows


def decoded(values, **how):
    source = ms.read_kafka("scores", "n int", name="scores", servers="x:1", **how).node
    last, run = Keeps(step="last"), Run()
    task = Decode(step="scores", source=source, schema=pa.schema([("n", pa.int32())]), then=[last])
    columns = {
        "value": values,
        "key": [b"k"] * len(values),
        "partition": 3,
        "offset": range(10, 10 + len(values)),
        "timestamp": AT,
    }
    task.take(with_time(pl.DataFrame(columns)), run)
    return last, run


def test_records_become_rows_with_the_metadata_that_is_read():
    last, run = decoded([b'{"n":1}', b'{"n":2}'], metadata=["offset"])
    assert last.rows.select("n", "offset").rows() == [(1, 10), (2, 11)]
    assert "partition" not in last.rows.columns
    assert run.rejected == []


def test_a_record_that_cannot_be_decoded_is_rejected_with_its_place_and_others_are_not():
    last, run = decoded([b'{"n":1}', b'{"n":"x"}', b'{"n":3}'])
    assert last.rows["n"].to_list() == [1, 3]
    ((step, _, record),) = run.rejected
    assert step == "scores"
    found = json.loads(record)
    assert found.pop("timestamp")
    place = {"topic": "scores", "partition": 3, "offset": 11}
    assert found == {**place, "key": "k", "value": '{"n":"x"}'}


def test_where_records_are_read_values_come_from_them_and_places_too():
    class Records:
        def values(self):
            return [b'{"n":7}', b"x"]

        def describe(self, row):
            return {"offset": 100 + row}

    source = ms.read_kafka("scores", "n int", name="scores", servers="x:1").node
    last, run = Keeps(step="last"), Run(Records())
    task = Decode(step="scores", source=source, schema=pa.schema([("n", pa.int32())]), then=[last])
    task.take(with_time(pl.DataFrame({"hidden": [0, 0]})), run)
    assert last.rows["n"].to_list() == [7]
    ((_, _, record),) = run.rejected
    assert json.loads(record) == {"offset": 101}
