"""Windows in the order of rows: placed for all keys at once as one row at a time."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.grouping.ordered_windows import in_order, ordered_windows_of
from millstream.engine.operator import INDEX
from millstream.model.ordered_windows import count_window
from millstream.reference.elements import Element
from millstream.reference.ordered_windows import sequence_of

BATCHES = st.lists(st.lists(st.sampled_from(["a", "b", None]), max_size=9), max_size=4)


@given(st.integers(1, 4), st.integers(1, 5), BATCHES)
def test_rows_of_all_keys_are_placed_as_those_of_each_key(size, slide, batches):
    kind = count_window(size, slide)
    windows, sequences = ordered_windows_of(kind), None
    expected = {}
    for batch in batches:
        table = pl.DataFrame(
            {"key": batch, "row": range(len(batch))}, {"key": pl.String, "row": pl.Int64}
        )
        placed, sequences = windows.place(table, sequences, ["key"])
        found = [(row, index) for row, index in placed.select("row", INDEX).iter_rows()]
        one_by_one = []
        for row, key in enumerate(batch):
            places = expected.setdefault(key, sequence_of(kind)).place(Element(None, 0))
            one_by_one += [(row, index) for index in places] or [(row, None)]
        assert found == one_by_one
        ended = dict(sequences.select("key", "upto").iter_rows())
        assert ended == {key: sequence.ended for key, sequence in expected.items()}


def test_rows_are_ordered_by_event_time_then_by_place():
    rows = pl.DataFrame(
        [(2, "s", "0", 1), (1, "t", "0", 0), (1, "s", "1", 5), (1, "s", "0", 9), (1, "s", "0", 8)],
        schema=["time", "origin", "split", "offset"],
        orient="row",
    )
    assert in_order(rows).rows() == sorted(rows.rows())
