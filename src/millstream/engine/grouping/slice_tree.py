"""Merges slices into windows by a tree, so that windows share what they have in common.

A node of level *n* has 2ⁿ slices: it is made of two nodes of the level below. Of those, a window
takes the largest that are inside of it, at most two of each level; so a pane is merged from twice
as many rows as its windows' slices have binary digits. Nothing is ever subtracted: sums of floats
stay what they are, and least values are shared as sums are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.slices import Slices
from millstream.engine.tables import rows_of

_Numbers = npt.NDArray[np.int64]
_MOST_ROWS = 1_000_000
"""About how many rows may be merged into panes at a time."""


class SliceTree:
    """The tree over some rows, which know their ``slice`` by its number among those of a level."""

    def __init__(
        self, compiled: Compiled, slices: Slices, levels: Mapping[int, pl.DataFrame]
    ) -> None:
        self._compiled = compiled
        self._slices = slices
        self._levels = levels

    def panes(self, all_windows: range) -> Iterator[pl.DataFrame]:
        """The rows of these windows, merged by key and window."""
        windows = self._with_rows(all_windows)
        if not len(windows):
            return
        covers = self._covers(windows)
        nodes = self._nodes(covers)
        there = nodes.select("level", "slice").unique()
        covers = covers.join(there, on=["level", "slice"])
        # Of a node there are as many rows as keys.
        at_a_time = max(
            1, len(windows) * _MOST_ROWS * there.height // (covers.height * nodes.height)
        )
        for begin in range(0, len(windows), at_a_time):
            some = windows[begin : begin + at_a_time]
            mine = covers.filter(pl.col("window").is_between(some[0], some[-1]))
            rows = mine.join(nodes, on=["level", "slice"]).drop("level", "slice")
            yield self._compiled.combined(self._slices.bounds(rows))

    def _with_rows(self, windows: range) -> _Numbers:
        """Those of the windows that have rows of any key, in order."""
        found = [
            table["slice"].unique().to_numpy() << level for level, table in self._levels.items()
        ]
        slices = np.unique(np.concatenate(found))
        across, edges = self._slices.across, self._slices.edges
        newest = slices // edges
        # Of the windows of a slice, those of the slice before it are known already.
        oldest = (slices - across) // edges + 1
        oldest[1:] = np.maximum(oldest[1:], newest[:-1] + 1)
        oldest, newest = np.maximum(oldest, windows.start), np.minimum(newest, windows.stop - 1)
        counts = np.maximum(newest - oldest + 1, 0)
        before = np.cumsum(counts) - counts
        found_windows: _Numbers = np.arange(counts.sum()) + np.repeat(oldest - before, counts)
        return found_windows

    def _covers(self, windows: _Numbers) -> pl.DataFrame:
        """The nodes that each window consists of: ``level`` and ``slice``."""
        begin = windows * self._slices.edges
        end = begin + self._slices.across
        found, level = [], 0
        while len(windows):
            first, last = begin % 2 == 1, end % 2 == 1
            found.append(_cover(level, begin[first], windows[first]))
            found.append(_cover(level, end[last] - 1, windows[last]))
            begin, end, level = (begin + 1) // 2, end // 2, level + 1
            rest = begin < end
            begin, end, windows = begin[rest], end[rest], windows[rest]
        return pl.concat(found)

    def _nodes(self, covers: pl.DataFrame) -> pl.DataFrame:
        """The nodes that there are of these, by key; those of a level are made of lower ones.

        Only those that several windows share are merged here.
        """
        uses = covers.group_by("level", "slice").len()
        levels = {
            int(level): nodes["slice", "len"]
            for (level,), nodes in sorted(uses.partition_by("level", as_dict=True).items())
        }
        needed = {level: nodes["slice"].to_numpy() for level, nodes in levels.items()}
        rising: dict[int, list[pl.DataFrame]] = defaultdict(list)
        for level, table in self._levels.items():
            for target, rows in _raised(table, level, [n for n in needed if n >= level], needed):
                rising[target].append(rows)
        made = []
        for level, nodes in levels.items():
            if level in rising:
                rows = rows_of(rising.pop(level))
                shared = pl.col("slice").is_in(nodes.filter(pl.col("len") > 1)["slice"].implode())
                rows = rows_of([self._compiled.combined(rows.filter(shared)), rows.filter(~shared)])
                made.append(rows.with_columns(level=pl.lit(level, pl.Int64)))
                for target, more in _raised(rows, level, [n for n in needed if n > level], needed):
                    rising[target].append(more)
        return rows_of(made)


def _cover(level: int, nodes: _Numbers, windows: _Numbers) -> pl.DataFrame:
    return pl.DataFrame(
        {"level": np.full(len(nodes), level, np.int64), "slice": nodes, "window": windows}
    )


def _raised(
    table: pl.DataFrame, level: int, above: list[int], needed: Mapping[int, _Numbers]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows, each as one of the lowest node above it that is needed."""
    left = table["slice"].unique().to_numpy()
    for target in sorted(above):
        raised = left >> (target - level)
        here = np.isin(raised, needed[target])
        if here.any():
            nodes = pl.DataFrame({"slice": left[here], "raised": raised[here]})
            rows = table.join(nodes, on="slice", maintain_order="left")
            yield target, rows.with_columns(slice="raised").drop("raised")
            left = left[~here]
