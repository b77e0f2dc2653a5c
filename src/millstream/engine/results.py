"""The values of panes, and the retractions of those that they replace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import polars as pl

from millstream.engine.accumulators import Accumulator
from millstream.engine.elements import folded, of_nothing, over_elements, standing
from millstream.engine.tables import Aggregated, concatenated
from millstream.model.aggregates import Combine

_INFO = ["timing", "index", "first", "last"]


class Results:
    """Computes the aggregates of panes, from accumulators or from elements."""

    def __init__(
        self, keys: Sequence[str], folding: Sequence[tuple[Aggregated, Accumulator | None]]
    ) -> None:
        self.owner = [*keys, "start", "end"]
        self.folded = [(a, folder) for a, folder in folding if folder]
        self.computed = [a for a, folder in folding if not folder]
        self.names = [a.name for a, _ in folding]
        inputs = [c for a in self.computed for c in (a.of, a.by) if c]
        self.element_columns = list(dict.fromkeys(inputs))
        self.keeps_elements = bool(self.computed)

    def of(self, panes: pl.DataFrame, elements: pl.DataFrame | None) -> pl.DataFrame:
        """The panes with the aggregates' values, ``sign`` 1, and ``filled`` if not empty."""
        panes = panes.with_columns(f.result().alias(a.name) for a, f in self.folded)
        panes = panes.with_columns(sign=pl.lit(1), filled=pl.lit(True))
        if self.keeps_elements:
            panes = self._with_computed(panes, elements)
        return panes.select(
            *self.owner, *self.names, *_INFO, "timestamp", "sign", "filled"
        ).with_columns(of_start="start", of_end="end")

    def _with_computed(self, panes: pl.DataFrame, elements: pl.DataFrame | None) -> pl.DataFrame:
        if elements is None:
            return panes.with_columns(
                pl.lit(of_nothing(a.aggregate)).alias(a.name) for a in self.computed
            )
        mine = elements.join(panes.select(self.owner), on=self.owner, how="semi", nulls_equal=True)
        groups = standing(mine).group_by(self.owner)
        values = groups.agg(
            pl.len().alias("held"),
            *(over_elements(a.aggregate, a.of, a.by).alias(a.name) for a in self.computed),
        )
        panes = panes.join(
            values, on=self.owner, how="left", nulls_equal=True, maintain_order="left"
        )
        empty = pl.col("held").is_null()
        panes = panes.with_columns(
            pl.when(empty).then(pl.lit(of_nothing(a.aggregate))).otherwise(a.name).alias(a.name)
            for a in self.computed
            if of_nothing(a.aggregate) is not None
        )
        panes = panes.with_columns(filled=~empty)
        for a in self.computed:
            if isinstance(a.aggregate, Combine):
                results = pl.Series(a.name, folded(a.aggregate, panes[a.name]), strict=False)
                panes = panes.with_columns(results)
        return panes

    def refined(
        self, panes: pl.DataFrame, emitted: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Retractions, then panes, where something changed; and what is stood by afterwards."""
        if emitted is None:
            shown = panes.filter("filled")
            return shown, shown
        fired = emitted.join(panes.select(self.owner), on=self.owner, how="semi", nulls_equal=True)
        unchanged = self._unchanged(panes, fired)
        panes = panes.join(unchanged, on=self.owner, how="anti", nulls_equal=True)
        back = fired.join(unchanged, on=self.owner, how="anti", nulls_equal=True)
        kept = emitted.join(panes.select(self.owner), on=self.owner, how="anti", nulls_equal=True)
        shown = panes.filter("filled")
        # A retraction tells of the pane that it makes way for; the old one's story goes along.
        info = panes.select(*self.owner, *_INFO)
        back = back.rename({name: f"old_{name}" for name in _INFO}).with_columns(sign=pl.lit(-1))
        back = back.join(info, on=self.owner, how="left", nulls_equal=True, maintain_order="left")
        out = concatenated(back, shown)
        assert out is not None
        return out, concatenated(kept, shown)

    def _unchanged(self, panes: pl.DataFrame, emitted: pl.DataFrame) -> pl.DataFrame:
        """The windows whose one emitted pane says the same as the new one."""
        once = emitted.filter(pl.len().over(self.owner) == 1)
        pairs = panes.filter("filled").join(
            once, on=self.owner, how="inner", nulls_equal=True, suffix="_before"
        )
        same = [pl.col(n).eq_missing(pl.col(f"{n}_before")) for n in self.names]
        bounds = [
            pl.col("start") == pl.col("of_start_before"),
            pl.col("end") == pl.col("of_end_before"),
        ]
        return pairs.filter(reduce(and_, [*same, *bounds])).select(self.owner)
