"""Windows in the order of rows: placed for all keys at once as one row at a time."""

from __future__ import annotations

from math import nan

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.grouping.ordered_windows import ordered_windows_of
from millstream.engine.operator import INDEX
from millstream.model.ordered_windows import Marked, count_window, delta_window, punctuated_window
from millstream.reference.elements import Element
from millstream.reference.ordered_windows import sequence_of

ROWS = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([None, 0.0, 1.0, 2.0, 3.0, nan])
)
BATCHES = st.lists(st.lists(ROWS, max_size=9), max_size=4)


KINDS = st.one_of(
    st.builds(count_window, st.integers(1, 4), st.integers(1, 5)),
    st.builds(delta_window, st.just("value"), st.integers(1, 3)),
    st.just(punctuated_window("value > 2")),
)


@given(KINDS, BATCHES)
def test_rows_of_all_keys_are_placed_as_those_of_each_key(kind, batches):
    windows, sequences = ordered_windows_of(kind), None
    expected = {}
    for batch in batches:
        attributes = [of(kind, value) for _, value in batch]
        keys = pl.Series("key", [key for key, _ in batch], pl.String)
        table = pl.DataFrame([keys, pl.Series("attribute", attributes)])
        table = table.with_columns(row=pl.int_range(pl.len()))
        placed, sequences = windows.place(table, sequences, ["key"])
        found = [(row, index) for row, index in placed.select("row", INDEX).iter_rows()]
        one_by_one = []
        for row, (key, attribute) in enumerate(zip(keys, attributes, strict=True)):
            element = Element(None, 0, attribute=attribute)
            places = expected.setdefault(key, sequence_of(kind)).place(element)
            one_by_one += [(row, index) for index in places] or [(row, None)]
        assert found == one_by_one
        ended = dict(sequences.select("key", "upto").iter_rows())
        assert ended == {key: sequence.ended for key, sequence in expected.items()}


def of(kind, value):
    """The attribute of a row with that value."""
    if not isinstance(kind, Marked):
        return value
    return None if value is None else value > 2
