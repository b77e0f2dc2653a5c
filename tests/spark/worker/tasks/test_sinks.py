"""Rows of a sink are sent to the last stage, or written there."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pyarrow as pa

from millstream.engine.rows import with_time
from millstream.plan.targets import Memory
from millstream.sinks.memory import Rows
from millstream.sinks.slices import Slice
from millstream.spark.worker.envelopes import ARROW
from millstream.spark.worker.output import Output
from millstream.spark.worker.tasks.sinks import ToSink, Write

SCHEMA = pa.schema([("n", pa.int64())])
ROWS = with_time(pl.DataFrame({"n": [1, 2], "more": [3, 4]}))


def run():
    return SimpleNamespace(
        output=Output(ARROW),
        slice=Slice("a1b2c3d4", batch=0, number=0, attempt=0),
        home=lambda: 5,
        next_origin=lambda: "here",
    )


def test_rows_are_sent_with_the_columns_of_the_sink_alone():
    made = run()
    ToSink(step="out", schema=SCHEMA).take(ROWS, made)
    (envelope,) = made.output.envelopes()
    assert (envelope.shard, envelope.node, envelope.kind) == (5, "out", "sink")
    assert envelope.table().to_dict(as_series=False) == {"n": [1, 2]}


def test_a_writer_gets_all_rows_and_its_receipt_goes_to_the_driver():
    made, task = run(), Write(step="out", target=Memory(), schema=SCHEMA)
    task.begin(made)
    task.take(ROWS, made)
    task.take(ROWS, made)
    task.end(made)
    (receipt,) = made.output.envelopes()
    assert (receipt.kind, receipt.elements) == ("receipt", 4)
    assert Rows.unpacked(receipt.payload).table["n"].to_pylist() == [1, 2, 1, 2]


def test_a_sink_without_rows_writes_nothing():
    made, task = run(), Write(step="out", target=Memory(), schema=SCHEMA)
    task.begin(made)
    task.end(made)
    assert made.output.envelopes() == []
