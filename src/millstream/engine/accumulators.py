"""What is computed, as columns: partial results that merge without looking at elements again.

Each accumulator keeps a few columns for a pane. The same expressions fold a batch's elements into
partial results and merge partial results of a window: an element is a pane of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import polars as pl

from millstream.model import aggregates as described
from millstream.model.aggregates import Aggregate


class Accumulator(ABC):
    """One aggregate's columns, whose names start with ``name``; its input is the column ``of``."""

    def __init__(self, name: str, of: str | None) -> None:
        self.name = name
        self.of = of

    @abstractmethod
    def columns(self) -> Iterator[str]:
        """What is kept for a pane."""

    @abstractmethod
    def of_element(self) -> Iterator[pl.Expr]:
        """The columns for each element by itself."""

    @abstractmethod
    def merged(self) -> Iterator[pl.Expr]:
        """The columns of a group, aggregated."""

    @abstractmethod
    def result(self) -> pl.Expr:
        """The aggregate's value."""

    def neutral(self) -> Iterator[tuple[str, pl.Expr]]:
        """The columns of a pane that holds nothing."""
        return ((column, pl.lit(None)) for column in self.columns())


class Count(Accumulator):
    def columns(self) -> Iterator[str]:
        yield f"{self.name}.count"

    def of_element(self) -> Iterator[pl.Expr]:
        one = pl.lit(1, pl.Int64) if self.of is None else pl.col(self.of).is_not_null()
        yield one.cast(pl.Int64).alias(f"{self.name}.count")

    def merged(self) -> Iterator[pl.Expr]:
        yield pl.col(f"{self.name}.count").sum()

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.count")

    def neutral(self) -> Iterator[tuple[str, pl.Expr]]:
        yield f"{self.name}.count", pl.lit(0, pl.Int64)


class Sum(Accumulator):
    def columns(self) -> Iterator[str]:
        yield f"{self.name}.sum"

    def of_element(self) -> Iterator[pl.Expr]:
        yield pl.col(self.of or "").alias(f"{self.name}.sum")

    def merged(self) -> Iterator[pl.Expr]:
        yield pl.col(f"{self.name}.sum").sum()

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.sum").fill_null(0)


class Extreme(Accumulator):
    """The least or the greatest value."""

    def __init__(self, name: str, of: str | None, greatest: bool) -> None:
        super().__init__(name, of)
        self.greatest = greatest

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.value"

    def of_element(self) -> Iterator[pl.Expr]:
        yield pl.col(self.of or "").alias(f"{self.name}.value")

    def merged(self) -> Iterator[pl.Expr]:
        value = pl.col(f"{self.name}.value")
        yield value.max() if self.greatest else value.min()

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.value")


class Mean(Accumulator):
    def columns(self) -> Iterator[str]:
        yield f"{self.name}.count"
        yield f"{self.name}.sum"

    def of_element(self) -> Iterator[pl.Expr]:
        of = pl.col(self.of or "")
        yield of.is_not_null().cast(pl.Int64).alias(f"{self.name}.count")
        yield of.cast(pl.Float64).alias(f"{self.name}.sum")

    def merged(self) -> Iterator[pl.Expr]:
        return (pl.col(column).sum() for column in self.columns())

    def result(self) -> pl.Expr:
        count = pl.col(f"{self.name}.count")
        return pl.when(count > 0).then(pl.col(f"{self.name}.sum") / count)


class Variance(Accumulator):
    """Count, mean and sum of squared distances, merged after Chan et al., which is stable."""

    def __init__(self, name: str, of: str | None, root: bool) -> None:
        super().__init__(name, of)
        self.root = root

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.count"
        yield f"{self.name}.mean"
        yield f"{self.name}.squares"

    def of_element(self) -> Iterator[pl.Expr]:
        of = pl.col(self.of or "")
        yield of.is_not_null().cast(pl.Int64).alias(f"{self.name}.count")
        yield of.cast(pl.Float64).alias(f"{self.name}.mean")
        yield pl.lit(0.0).alias(f"{self.name}.squares")

    def merged(self) -> Iterator[pl.Expr]:
        count, mean, squares = (pl.col(column) for column in self.columns())
        overall = (count * mean).sum() / count.sum()
        yield count.sum()
        yield overall.alias(f"{self.name}.mean")
        yield (squares.sum() + (count * (mean - overall) ** 2).sum()).alias(f"{self.name}.squares")

    def result(self) -> pl.Expr:
        count, _, squares = (pl.col(column) for column in self.columns())
        variance = pl.when(count > 1).then(squares / (count - 1))
        return variance.sqrt() if self.root else variance


class Edge(Accumulator):
    """The value with the earliest or the latest event time, by value where times are equal."""

    def __init__(self, name: str, of: str | None, latest: bool) -> None:
        super().__init__(name, of)
        self.latest = latest

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.time"
        yield f"{self.name}.value"

    def of_element(self) -> Iterator[pl.Expr]:
        of = pl.col(self.of or "")
        yield pl.when(of.is_not_null()).then(pl.col("time")).alias(f"{self.name}.time")
        yield of.alias(f"{self.name}.value")

    def merged(self) -> Iterator[pl.Expr]:
        known = pl.col(f"{self.name}.time").is_not_null()
        order = [pl.col(column).filter(known) for column in self.columns()]
        for column in self.columns():
            yield pl.col(column).filter(known).sort_by(order, descending=self.latest).first()

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.value")


def accumulator(aggregate: Aggregate, name: str, of: str | None) -> Accumulator | None:
    """What folds the aggregate; None for one that needs the elements themselves."""
    match aggregate:
        case described.Count():
            return Count(name, of)
        case described.Sum():
            return Sum(name, of)
        case described.Min() | described.AnyValue():
            return Extreme(name, of, greatest=False)
        case described.Max():
            return Extreme(name, of, greatest=True)
        case described.Mean():
            return Mean(name, of)
        case described.Variance():
            return Variance(name, of, root=False)
        case described.Stddev():
            return Variance(name, of, root=True)
        case described.First():
            return Edge(name, of, latest=False)
        case described.Last():
            return Edge(name, of, latest=True)
    return None
