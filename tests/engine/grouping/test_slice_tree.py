"""Windows that are merged from slices by a tree."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.engine.grouping import slice_tree
from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.slice_tree import SliceTree
from millstream.engine.grouping.tables import Aggregated
from millstream.model.windowing import Windowing
from millstream.model.windows import Sliding


def tree(kind, rows, level=0):
    compiled = Compiled(Windowing(kind), ["key"], [Aggregated("n", ms.count())], keeps_late=False)
    table = pl.DataFrame(
        rows, schema={"key": pl.String, "slice": pl.Int64, "new": pl.Int64}, orient="row"
    ).with_columns(pl.col("new").alias("n.count"))
    return SliceTree(compiled, compiled.slices, {level: table})


@given(
    st.integers(2, 40),
    st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.integers(-60, 60)), st.integers(1, 9), min_size=1
    ),
    st.integers(-80, 80),
    st.integers(0, 60),
    st.sampled_from([1, 20, 1_000_000]),
)
def test_each_window_has_the_rows_of_its_slices_and_no_window_is_without(
    size, held, first, many, at_a_time
):
    kind, windows = Sliding(size, 1, 0), range(first, first + many)
    expected = Counter()
    for (key, slice), n in held.items():
        for window in range(slice - size + 1, slice + 1):
            if window in windows:
                expected[key, window] += n
    with patch.object(slice_tree, "_MOST_ROWS", at_a_time):
        made = list(tree(kind, [(*place, n) for place, n in held.items()]).panes(windows))
    found = [row for table in made for row in table["key", "start", "n.count"].rows()]
    assert len(found) == len(expected)
    assert {(key, start): n for key, start, n in found} == dict(expected)


def test_slices_that_are_merged_already_are_taken_as_they_are():
    # Level 2: the rows of four slices each; the window [0, 12) has three of them.
    made = tree(Sliding(12, 1, 0), [("a", 0, 1), ("a", 1, 2), ("a", 2, 4), ("a", 3, 8)], level=2)
    assert [table["n.count"].to_list() for table in made.panes(range(1))] == [[7]]


@pytest.mark.parametrize("windows", [1, 64])
def test_a_pane_is_merged_from_few_rows(windows):
    made = tree(Sliding(3600, 1, 0), [("a", slice, 1) for slice in range(3600 + windows)])
    covers = made._covers(made._with_rows(range(windows)))
    assert covers.height <= windows * 2 * 12  # 3,600 has twelve binary digits
    (panes,) = made.panes(range(windows))
    assert panes["n.count"].to_list() == [3600] * windows
