"""What is computed, as columns: partial results that merge without looking at elements again.

Each accumulator keeps a few columns for a pane. The same expressions fold a batch's elements into
partial results and merge partial results of a window: an element is a pane of one.

The type of an input is known only where an expression meets its table. So where types differ in
what must be done, there is an expression for each kind of column: a selector, which makes nothing
of columns of another kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import polars as pl
from polars import selectors
from polars.datatypes import DataTypeClass

from millstream.reference.aggregates import DECIMAL_REACH


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

    def beyond(self, panes: pl.DataFrame) -> str | None:
        """The type that cannot hold one of the panes' results, if there is one."""
        return None


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
    """The sum, and what shows whether its type can hold it.

    Integers are exact modulo 2⁶⁴, in whatever order they are summed; a sum that BIGINT cannot hold
    is far from what it is ``about``, in floats, by more than floats are ever off. Decimals must not
    leave their 38 digits on the way either, for Polars has no place for more: their magnitudes have
    a ``reach``, which only grows. Other numbers need neither, and these columns are of type Null.
    """

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.sum"
        yield f"{self.name}.about"
        yield f"{self.name}.reach"

    def of_element(self) -> Iterator[pl.Expr]:
        total, about, reach = self.columns()
        # A zero of 64 bits makes all numbers as wide as their sum.
        yield (pl.col(self.of or "") + pl.lit(0, pl.Int64)).alias(total)
        of = selectors.by_name(self.of or "")
        # It takes billions of smaller integers in one pane to make more than 64 bits of them.
        whole, decimal = of & selectors.by_dtype(pl.Int64), of & selectors.decimal()
        yield whole.cast(pl.Float64).alias(about)
        yield _nothing(of - whole).alias(about)
        yield decimal.to_physical().cast(pl.Float64).abs().alias(reach)
        yield _nothing(of - decimal).alias(reach)

    def merged(self) -> Iterator[pl.Expr]:
        total, about, reach = (selectors.by_name(column) for column in self.columns())
        # What was taken back reaches as far as what was given.
        reached = (reach & selectors.float()).abs().sum()
        yield (total - selectors.decimal()).sum()
        yield (total & selectors.decimal()).filter(reached < DECIMAL_REACH).sum()
        yield about.sum()
        yield reached
        yield (reach - selectors.float()).sum()

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.sum").fill_null(0)

    def beyond(self, panes: pl.DataFrame) -> str | None:
        total, about, reach = (panes[column] for column in self.columns())
        if about.dtype == pl.Float64 and total.dtype.is_integer():
            off = (total.cast(pl.Float64) - about).abs()
            return "BIGINT" if (off > 2.0**62).any() else None
        if reach.dtype == pl.Float64 and total.dtype.is_decimal():
            return "DECIMAL" if (reach >= DECIMAL_REACH).any() else None
        return None


class Extreme(Accumulator):
    """The least or the greatest value."""

    def __init__(self, name: str, of: str | None, greatest: bool) -> None:
        super().__init__(name, of)
        self.greatest = greatest

    def columns(self) -> Iterator[str]:
        yield f"{self.name}.value"

    def of_element(self) -> Iterator[pl.Expr]:
        return (e.alias(f"{self.name}.value") for e in with_one_zero(self.of or ""))

    def merged(self) -> Iterator[pl.Expr]:
        return _extreme(f"{self.name}.value", self.greatest)

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
        # Rounding must not move the mean of equal parts, nor that of a part beside empty ones.
        overall = overall.clip(mean.min(), mean.max())
        overall = pl.when(count.sum() > 0).then(overall)
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
        known = pl.col(self.of or "").is_not_null()
        yield pl.when(known).then(pl.col("time")).alias(f"{self.name}.time")
        yield from (e.alias(f"{self.name}.value") for e in with_one_zero(self.of or ""))

    def merged(self) -> Iterator[pl.Expr]:
        time = pl.col(f"{self.name}.time")
        edge = time.max() if self.latest else time.min()
        yield edge
        yield from _extreme(f"{self.name}.value", self.latest, where=time == edge)

    def result(self) -> pl.Expr:
        return pl.col(f"{self.name}.value")


def with_one_zero(*columns: str) -> Iterator[pl.Expr]:
    """The columns, in which -0.0 is 0.0: the two are equal, so which one is shown must not depend
    on which one came first.
    """
    floats = selectors.by_name(columns) & selectors.float()
    nested = selectors.by_name(columns) & selectors.nested()
    yield floats.replace(0.0, 0.0)
    # No selector knows what is inside of a column: that is known when there is one.
    yield nested.map_batches(_zeros_inside, return_dtype=pl.self_dtype(), is_elementwise=True)
    yield selectors.by_name(columns) - floats - nested


def _zeros_inside(values: pl.Series) -> pl.Series:
    """The same for lists, structs and maps, which stay what they are where no floats are inside."""
    made = _one_zero(pl.col(values.name), values.dtype)
    return values if made is None else values.to_frame().select(made).to_series()


def _one_zero(values: pl.Expr, kind: pl.DataType | DataTypeClass) -> pl.Expr | None:
    """Values of that type with one zero; None if they have no floats."""
    if kind.is_float():
        return values.replace(0.0, 0.0)
    match kind:
        case pl.List(inner=inner):
            made = _one_zero(pl.element(), inner)
            return None if made is None else values.list.eval(made)
        case pl.Struct(fields=fields):
            made_of = (_one_zero(pl.field(f.name), f.dtype) for f in fields)
            changed = [field for field in made_of if field is not None]
            return values.struct.with_fields(changed) if changed else None
        case pl.Map(key=key, value=value):
            pairs = pl.List(pl.Struct({"key": key, "value": value}))
            made = _one_zero(values.cast(pairs), pairs)
            return None if made is None else made.cast(kind)
    return None


def _nothing(columns: pl.Expr) -> pl.Expr:
    """As many nulls, of the type that takes no space."""
    return columns.is_null().cast(pl.Null, strict=False)


def _extreme(column: str, greatest: bool, where: pl.Expr | None = None) -> Iterator[pl.Expr]:
    """The least or greatest value of a group, in an order in which NaN comes last."""
    there = pl.col(column).is_not_null() if where is None else where
    nested = selectors.by_name(column) & selectors.nested()
    plain = selectors.by_name(column) - selectors.nested()
    # Polars knows no least or greatest of lists and structs, but it does sort them.
    ordered = nested.filter(there).sort()
    yield ordered.last() if greatest else ordered.first()
    values = plain if where is None else plain.filter(where)
    yield values.nan_max() if greatest else values.min()
