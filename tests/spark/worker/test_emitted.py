"""What operators emit becomes rows of the program, in the types that Spark expects."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

import millstream as ms
from millstream.engine.rows import PLACE, SIGN, TIME
from millstream.physical.operators import spec_of
from millstream.physical.plan import physical
from millstream.spark.worker.emitted import Emitted
from millstream.spark.worker.envelopes import Envelope

ROWS = pl.DataFrame(
    {
        "row": [{"key": "a", "n": 1}, {"key": "b", "n": None}],
        "time": [5, 6],
        "sign": [1, -1],
    }
)


def emitted(ordered):
    stream = ms.from_rows([], "key string, n int").key_by("key").changes("n").named("changes")
    plan = physical(stream.collect().sinks)
    (node,) = plan.levels
    schema = pa.schema([("n", pa.int32()), ("key", pa.string())])
    return Emitted(spec_of(plan, node, {}), "rows", schema, [], ordered)


def test_rows_have_the_columns_and_types_of_the_step():
    rows = emitted(ordered=False).rows(Envelope(0, "changes", "emit", rows=ROWS))
    assert rows.columns == ["n", "key", TIME, SIGN]
    assert rows.schema["n"] == pl.Int32  # in the table it is a BIGINT
    assert rows.rows() == [(1, "a", 5, 1), (None, "b", 6, -1)]


def test_rows_get_places_where_their_order_counts():
    envelope = Envelope(0, "changes", "emit", split="3/000001", rows=ROWS)
    rows = emitted(ordered=True).rows(envelope)
    assert rows[PLACE].to_list() == [
        {"origin": "changes", "split": "3/000001", "offset": 0},
        {"origin": "changes", "split": "3/000001", "offset": 1},
    ]


def test_what_has_travelled_is_the_same():
    sealed = Envelope(0, "changes", "emit", rows=ROWS).sealed()
    assert sealed.rows is None
    both = [emitted(False).rows(each) for each in (sealed, Envelope(0, "c", "emit", rows=ROWS))]
    assert both[0].equals(both[1])
