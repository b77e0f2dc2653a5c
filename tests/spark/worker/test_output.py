"""Rows and envelopes on their way to the next stage."""

from __future__ import annotations

import pyarrow as pa

from millstream.engine.rows import SPLIT
from millstream.spark.worker.envelopes import ARROW, Envelope
from millstream.spark.worker.output import Output

SCHEMA = pa.schema([*ARROW, ("n", pa.int64()), (SPLIT, pa.string())])


def rows(*numbers):
    columns = [
        pa.array(numbers, f.type) if f.name == "n" else pa.nulls(len(numbers), f.type)
        for f in SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def test_rows_and_envelopes_come_in_the_order_in_which_they_were_made():
    output = Output(SCHEMA)
    output.split = "p1"
    output.send(Envelope(0, "step", "mark", value=1))
    output.add(rows(5, 6))
    output.send(Envelope(0, "step", "mark", value=2))
    table = pa.Table.from_batches(output.batches())
    assert table["n"].to_pylist() == [None, 5, 6, None]
    assert table["value"].to_pylist() == [1, None, None, 2]
    assert table[SPLIT].to_pylist() == ["p1", None, None, "p1"]
    assert list(output.batches()) == []
