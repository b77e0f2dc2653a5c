"""Approximate aggregates: sketches of bounded size, exact as long as they are small.

A sketch depends on its values alone, not on their order or on how they were merged: a retried batch
gives the same bytes, whatever its tasks have combined. Sketches of DataSketches do not: those for
quantiles and HyperLogLog give other results for another order, and KLL for every run.

Functions over sketches take those of all groups at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.engine.exchange.hashing import fingerprints
from millstream.engine.grouping.accumulators import Accumulator

DISTINCT = 2048
"""As many distinct values are counted exactly."""
BUCKETS = 2048
"""As many distinct numbers are kept exactly; more share buckets."""

_HISTOGRAM = pl.Struct({"level": pl.UInt8, "at": pl.List(pl.Int64), "count": pl.List(pl.Int64)})
_ALL_BUT_SIGN = 2**63 - 1
_INFINITE = 0x7FF << 52
"""The number of infinity. That of NaN is greater, and that of negative infinity its complement."""


class Distinct(Accumulator):
    """The least fingerprints of distinct values, as in a theta sketch.

    Fingerprints are spread evenly over 64 bits. So the greatest of the n least ones tells how dense
    they are, with a relative standard error of 1/√(n - 2).
    """

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.least"

    def of_element(self) -> Iterator[pl.Expr]:
        prints = pl.col(self.of or "").map_batches(
            fingerprints, return_dtype=pl.UInt64, is_elementwise=True
        )
        yield _lists_of_one(prints).alias(f"{self.name}.least")

    def merged(self) -> Iterator[pl.Expr]:
        # One more than is counted exactly: it shows that there are more.
        distinct = pl.col(f"{self.name}.least").explode().drop_nulls().unique()
        yield distinct.sort().head(DISTINCT + 1)

    def result(self) -> pl.Expr:
        least = pl.col(f"{self.name}.least")
        count = least.list.len().fill_null(0).cast(pl.Int64)
        # As a share of all fingerprints.
        farthest = least.list.last().cast(pl.Float64) / 2.0**64
        return (
            pl.when(count <= DISTINCT)
            .then(count)
            .otherwise((DISTINCT / farthest).round().cast(pl.Int64))
        )


class Quantile(Accumulator):
    """A histogram with buckets that are equally many floats wide, a power of two of them.

    Floats are numbered in their order (``at``). At a ``level`` of 0 each has a bucket of its own;
    each level after it makes one of two. The level is the least at which there are no more than
    ``BUCKETS`` with values, so it depends on the values alone. A bucket is ``at`` its middle.

    At a level, every power of two has equally many buckets. So where values cover p powers of two,
    none is off by more than p / ``BUCKETS`` of its size.
    """

    def __init__(self, name: str, of: str | None, q: float) -> None:
        super().__init__(name, of)
        self.q = q

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.histogram"

    def of_element(self) -> Iterator[pl.Expr]:
        of = pl.col(self.of or "").cast(pl.Float64)
        at = of.map_batches(_numbered, return_dtype=pl.Int64, is_elementwise=True)
        one = pl.lit(1, pl.Int64)
        yield pl.struct(
            level=pl.lit(0, pl.UInt8),
            at=_lists_of_one(at),
            count=_lists_of_one(pl.when(at.is_not_null()).then(one)),
        ).alias(f"{self.name}.histogram")

    def merged(self) -> Iterator[pl.Expr]:
        # Elementwise over the groups: it gets all of them in one call.
        yield (
            pl.col(f"{self.name}.histogram")
            .implode()
            .map_batches(_merged, return_dtype=_HISTOGRAM, is_elementwise=True)
        )

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.histogram").map_batches(
            lambda histograms: _quantiles(histograms, self.q),
            return_dtype=pl.Float64,
            is_elementwise=True,
        )


def _lists_of_one(values: pl.Expr) -> pl.Expr:
    return values.reshape((-1, 1)).arr.to_list()


def _numbered(floats: pl.Series) -> pl.Series:
    """The floats as integers in the same order; what is between two of them is so after it, too."""
    bits = floats.fill_null(0.0).fill_nan(np.nan).to_numpy() + 0.0  # one NaN, one zero
    numbers = pl.Series(floats.name, _in_order(bits.view(np.int64)))
    return numbers.set(floats.is_null(), None)


def _in_order(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bits of floats as integers in the order of the floats; and such integers as bits."""
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


def _merged(parts: pl.Series) -> pl.Series:
    """One histogram for each list of them."""
    groups = pl.DataFrame({"part": parts}).with_row_index("group")
    flat = groups.explode("part").unnest("part").explode("at", "count").drop_nulls("at")
    flat = _coarsened(flat.with_columns(pl.col("level").max().over("group")))
    buckets = _summed(flat.sort("group", "at"))
    levels = _levels_needed(buckets)
    if levels.height:
        needed = buckets.join(levels, on="group", how="left", maintain_order="left")
        level = pl.coalesce("level_right", "level").alias("level")
        buckets = _summed(_coarsened(needed.with_columns(level).drop("level_right")))
    histograms = (
        buckets.group_by("group", maintain_order=True)
        .agg(pl.col("level").first(), pl.col("at", "count"))
        .select("group", histogram=pl.struct("level", "at", "count"))
    )
    return groups.join(histograms, on="group", how="left", maintain_order="left")["histogram"]


def _coarsened(buckets: pl.DataFrame) -> pl.DataFrame:
    """The buckets, each as wide as the level says, in the same order."""
    if not (buckets["level"] > 0).any():
        return buckets
    at, level = buckets["at"].to_numpy(), buckets["level"].to_numpy().astype(np.int64)
    middle = (at >> level << level) | (1 << level >> 1)
    middle = np.clip(middle, ~_INFINITE + 1, _INFINITE - 1)
    return buckets.with_columns(at=pl.when(_alone()).then("at").otherwise(middle))


def _summed(buckets: pl.DataFrame) -> pl.DataFrame:
    """One bucket of each group and place, in place of several that follow one another."""
    place = pl.struct("group", "at")
    starts = buckets.select(((place != place.shift(1)).fill_null(True)).arg_true()).to_series()
    if len(starts) == buckets.height:
        return buckets
    counts = np.add.reduceat(buckets["count"].to_numpy(), starts.to_numpy())
    return buckets[starts].with_columns(count=pl.Series(counts))


def _alone() -> pl.Expr:
    """Whether a number always has its own bucket: zero, infinity and NaN are close to no other."""
    at = pl.col("at")
    return (at == 0) | (at >= _INFINITE) | (at <= ~_INFINITE)


def _levels_needed(buckets: pl.DataFrame) -> pl.DataFrame:
    """The level of each group that has too many buckets.

    Neighbours become one at the level after the highest bit in which they differ.
    """
    shared = buckets.filter(~_alone())
    many = shared.filter(pl.len().over("group") > BUCKETS)
    differing = (pl.col("at") ^ pl.col("at").shift(1)).over("group")
    bit = 63 - differing.bitwise_leading_zeros().cast(pl.Int64)
    return (
        many.with_columns(bit=bit)
        .group_by("group")
        .agg(level=(pl.col("bit").top_k(BUCKETS).min() + 1).cast(pl.UInt8))
    )


def _quantiles(histograms: pl.Series, q: float) -> pl.Series:
    """The quantile of each histogram, interpolated linearly between neighbours."""
    groups = pl.DataFrame({"histogram": histograms}).with_row_index("group")
    flat = groups.unnest("histogram").explode("at", "count").drop_nulls("at")
    position = (pl.col("count").sum().over("group") - 1) * q
    flat = flat.with_columns(
        value=pl.Series(_in_order(flat["at"].to_numpy()).view(np.float64)),
        until=pl.col("count").cum_sum().over("group"),
        rank=position.floor().cast(pl.Int64),
        share=position - position.floor(),
    )
    value, until, rank = pl.col("value"), pl.col("until"), pl.col("rank")
    neighbours = flat.group_by("group").agg(
        pl.col("share").first(),
        below=value.filter(until > rank).first(),
        above=value.filter(until > rank + 1).first(),
    )
    below, above, share = pl.col("below"), pl.col("above"), pl.col("share")
    quantiles = neighbours.select(
        "group",
        quantile=pl.when((share == 0) | (below == above))
        .then(below)  # also where the other one is infinite, or there is none
        .otherwise(below * (1 - share) + above * share),
    )
    return groups.join(quantiles, on="group", how="left", maintain_order="left")["quantile"]
