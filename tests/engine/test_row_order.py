"""Rows are ordered by event time, then by where they came from."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.row_order import ORDER, in_row_order

ROWS = st.tuples(st.integers(0, 2), st.sampled_from("st"), st.sampled_from("01"), st.integers(0, 3))


@given(st.lists(ROWS, min_size=1), st.booleans())
def test_rows_are_ordered_by_event_time_then_by_place(rows, one_split):
    given = [(time, "s", "0", offset) for time, _, _, offset in rows] if one_split else rows
    table = pl.DataFrame(given, schema=list(ORDER), orient="row")
    assert in_row_order(table).rows() == sorted(given)
