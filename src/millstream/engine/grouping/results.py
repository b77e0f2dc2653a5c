"""The values of panes, and the retractions of those that they replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

import polars as pl

from millstream.engine.grouping.accumulators import Accumulator, with_one_zero
from millstream.engine.grouping.elements import (
    folded,
    of_nothing,
    over_elements,
    remaining,
    with_accumulators,
)
from millstream.engine.grouping.folding import accumulator
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.tables import concatenated
from millstream.model.aggregates import Combine
from millstream.reference.aggregates import beyond

_INFO = ["timing", "index", "first", "last"]


class Results:
    """Computes the aggregates of panes, from accumulators or from elements."""

    def __init__(
        self, owner: Sequence[str], folding: Sequence[tuple[Aggregated, Accumulator | None]]
    ) -> None:
        self.owner = list(owner)
        self._bounds = [name for name in ("start", "end") if name not in owner]
        self.names = [a.name for a, _ in folding]
        self._folded = [(a, folder) for a, folder in folding if folder]
        computed = [(a, accumulator(a.aggregate, a.name, a.of)) for a, f in folding if not f]
        self._refolded = [(a, folder) for a, folder in computed if folder]
        self._listed = [a for a, folder in computed if not folder]
        self.keeps_elements = bool(computed)
        inputs = [c for a, _ in computed for c in (a.of, a.by) if c]
        self.element_columns = list(dict.fromkeys(inputs))

    def of(self, panes: pl.DataFrame, elements: pl.DataFrame | None) -> pl.DataFrame:
        """The panes with the aggregates' values, ``sign`` 1, and ``filled`` if not empty."""
        valued = _with_results(panes, self._folded)
        valued = valued.with_columns(sign=pl.lit(1), filled=pl.lit(True))
        if self.keeps_elements:
            valued = self._with_computed(valued.collect(), elements)
        columns = [*self.owner, *self._bounds, *self.names, *_INFO, "timestamp", "sign", "filled"]
        return valued.select(columns).with_columns(of_start="start", of_end="end").collect()

    def _with_computed(self, panes: pl.DataFrame, elements: pl.DataFrame | None) -> pl.LazyFrame:
        values = self._over_groups(self._remaining(panes, elements))
        panes = panes.join(
            values, on=self.owner, how="left", nulls_equal=True, maintain_order="left"
        )
        empty = pl.col("held").is_null()
        panes = panes.with_columns(
            pl.when(empty).then(nothing).otherwise(name).alias(name)
            for name, nothing in self._of_nothing()
        ).with_columns(filled=~empty)
        for a in self._listed:
            if isinstance(a.aggregate, Combine):
                panes = panes.with_columns(folded(a.aggregate, panes[a.name]))
        return _with_results(panes, self._refolded)

    def _over_groups(self, elements: pl.DataFrame) -> pl.DataFrame:
        """Accumulators and results of each pane that has elements; how many are ``held``."""
        return (
            with_accumulators(elements, self._refolded)
            .group_by(self.owner)
            .agg(
                pl.len().alias("held"),
                *(e for _, folder in self._refolded for e in folder.merged()),
                *(over_elements(a.aggregate, a.of, a.by).alias(a.name) for a in self._listed),
            )
        )

    def _of_nothing(self) -> Iterator[tuple[str, pl.Expr]]:
        """The same of a pane that has none."""
        for _, folder in self._refolded:
            yield from folder.neutral()
        for a in self._listed:
            yield a.name, pl.lit(of_nothing(a.aggregate))

    def _remaining(self, panes: pl.DataFrame, elements: pl.DataFrame | None) -> pl.DataFrame:
        """The elements of the panes, less those that were taken back."""
        if elements is None:
            inputs = {"time": pl.Int64, "sign": pl.Int64, **dict.fromkeys(self.element_columns)}
            none = panes.select(self.owner).clear()
            return none.with_columns(pl.lit(None, kind).alias(n) for n, kind in inputs.items())
        mine = elements.join(panes.select(self.owner), on=self.owner, how="semi", nulls_equal=True)
        return remaining(mine).with_columns(with_one_zero(*self.element_columns))

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
        # A retraction has the information of the new pane, and beside it that of the old one.
        info = panes.select(*self.owner, *self._bounds, *_INFO)
        back = back.drop(self._bounds).with_columns(sign=pl.lit(-1))
        back = back.rename({name: f"old_{name}" for name in _INFO})
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


def _with_results(
    panes: pl.DataFrame, folding: Sequence[tuple[Aggregated, Accumulator]]
) -> pl.LazyFrame:
    """The panes with the values of accumulators, none of which may be more than its type holds."""
    for a, folder in folding:
        type = folder.beyond(panes)
        if type is not None:
            raise beyond(a.aggregate, type)
    return panes.lazy().with_columns(folder.result().alias(a.name) for a, folder in folding)
