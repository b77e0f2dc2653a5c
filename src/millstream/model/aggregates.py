"""What is computed for each key and window: descriptions of aggregates.

Each takes an expression (Spark SQL text, or a PySpark Column) and skips nulls. None of them depends
on the order in which elements arrive: where order matters, it is that of event time, and of the
values for equal times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from millstream.model.errors import PlanError

Expression: TypeAlias = Any
"""Spark SQL text, or a PySpark Column."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate over the expression ``of``.

    ``additive``: results over new elements add up to the result over all, retractions included.
    """

    of: Expression | None = None

    name: ClassVar[str]
    additive: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{self.name}({'' if self.of is None else self.of})"


class Count(Aggregate):
    name, additive = "count", True


class Sum(Aggregate):
    name, additive = "sum", True


class Min(Aggregate):
    name = "min"


class Max(Aggregate):
    name = "max"


class Mean(Aggregate):
    name = "mean"


class Variance(Aggregate):
    name = "variance"


class Stddev(Aggregate):
    name = "stddev"


class First(Aggregate):
    name = "first"


class Last(Aggregate):
    name = "last"


class AnyValue(Aggregate):
    name = "any_value"


class Collect(Aggregate):
    name = "collect"


class CollectSet(Aggregate):
    name = "collect_set"


class CountDistinct(Aggregate):
    name = "count_distinct"


class ApproxDistinct(Aggregate):
    name = "approx_distinct"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Top(Aggregate):
    """The ``n`` rows (or values of ``of``) with the greatest ``by``."""

    n: int
    by: Expression

    name: ClassVar[str] = "top"

    def __repr__(self) -> str:
        return f"top({self.n}, by={self.by}{'' if self.of is None else f', of={self.of}'})"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Quantile(Aggregate):
    """The exact quantile ``q``, interpolated linearly."""

    q: float

    name: ClassVar[str] = "quantile"

    def __repr__(self) -> str:
        return f"{self.name}({self.of}, {self.q})"


class ApproxQuantile(Quantile):
    name = "approx_quantile"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Combine(Aggregate):
    """A user's own accumulator, computed over the values of each pane. Its functions are pure."""

    create: Callable[[], Any]
    add: Callable[[Any, Any], Any]
    extract: Callable[[Any], Any]
    returns: str

    name: ClassVar[str] = "combine"

    def __repr__(self) -> str:
        return f"combine({self.of}, add={getattr(self.add, '__name__', self.add)})"


def count(of: Expression | None = None) -> Count:
    """How many rows there are, or how many non-null values ``of`` has.

    >>> count(), count("user")
    (count(), count(user))
    """
    return Count(of)


def sum(of: Expression | None = None) -> Sum:
    """The sum; without values it is 0.

    >>> sum("points * 2")
    sum(points * 2)
    """
    return Sum(of)


def min(of: Expression | None = None) -> Min:
    """The least value; without values it is null.

    >>> min("points")
    min(points)
    """
    return Min(of)


def max(of: Expression | None = None) -> Max:
    """The greatest value; without values it is null.

    >>> max("points")
    max(points)
    """
    return Max(of)


def mean(of: Expression | None = None) -> Mean:
    """The arithmetic mean; without values it is null.

    >>> mean("points")
    mean(points)
    """
    return Mean(of)


def variance(of: Expression | None = None) -> Variance:
    """The sample variance; of fewer than two values it is null.

    >>> variance("points")
    variance(points)
    """
    return Variance(of)


def stddev(of: Expression | None = None) -> Stddev:
    """The sample standard deviation; of fewer than two values it is null.

    >>> stddev("points")
    stddev(points)
    """
    return Stddev(of)


def first(of: Expression | None = None) -> First:
    """The value with the earliest event time (the least of them where times are equal).

    >>> first("page")
    first(page)
    """
    return First(of)


def last(of: Expression | None = None) -> Last:
    """The value with the latest event time (the greatest of them where times are equal).

    >>> last("page")
    last(page)
    """
    return Last(of)


def any_value(of: Expression | None = None) -> AnyValue:
    """Some value of the group; always the same one for the same elements.

    >>> any_value("city")
    any_value(city)
    """
    return AnyValue(of)


def collect(of: Expression | None = None) -> Collect:
    """All values as a list, in the order of event time.

    >>> collect("user")
    collect(user)
    """
    return Collect(of)


def collect_set(of: Expression | None = None) -> CollectSet:
    """The distinct values as a list, least first.

    >>> collect_set("user")
    collect_set(user)
    """
    return CollectSet(of)


def count_distinct(of: Expression | None = None) -> CountDistinct:
    """How many distinct values there are.

    >>> count_distinct("user")
    count_distinct(user)
    """
    return CountDistinct(of)


def approx_distinct(of: Expression | None = None) -> ApproxDistinct:
    """About how many distinct values there are, in at most 16 KB for each group.

    Up to 2,048 are counted exactly. Of more, the count has a relative standard error of 2.2%: 95 of
    100 counts are off by less than 4.4%. The same values give the same count, in any order.

    It takes values of all types that ``count_distinct`` takes, but none that may be retracted.

    >>> approx_distinct("user")
    approx_distinct(user)
    """
    return ApproxDistinct(of)


def top(n: int, by: Expression, of: Expression | None = None) -> Top:
    """The ``n`` rows with the greatest ``by``, greatest first; ``of`` takes a value of each.

    >>> top(3, by="points"), top(3, by="points", of="user")
    (top(3, by=points), top(3, by=points, of=user))
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise PlanError(
            "MS113",
            f"top({n!r}): the number of rows must be a whole number, 1 or more",
            fix="give one, such as ms.top(3, by='points')",
        )
    return Top(of, n=n, by=by)


def quantile(of: Expression | None = None, q: float = 0.5) -> Quantile:
    """The exact quantile ``q`` (0 to 1) of numbers, interpolated linearly; 0.5 is the median.

    >>> quantile("latency", 0.99)
    quantile(latency, 0.99)
    """
    return Quantile(of, q=_fraction(q, "quantile"))


def approx_quantile(of: Expression | None = None, q: float = 0.5) -> ApproxQuantile:
    """About the quantile ``q`` (0 to 1) of numbers, in at most 32 KB for each group.

    It is exact for up to 2,048 distinct numbers. For more, numbers are off by less than p / 2048 of
    their size, where p is how many powers of two they cover: 1% for numbers from 1 to 1,000,000.
    The same values give the same quantile, in any order.

    It takes the numbers that ``quantile`` takes, but none that may be retracted.

    >>> approx_quantile("latency", 0.99)
    approx_quantile(latency, 0.99)
    """
    return ApproxQuantile(of, q=_fraction(q, "approx_quantile"))


def combine(
    of: Expression | None = None,
    *,
    create: Callable[[], Any],
    add: Callable[[Any, Any], Any],
    extract: Callable[[Any], Any],
    returns: str | None = None,
) -> Combine:
    """A user's own accumulator, whose result has the Spark type ``returns``.

    ``create()`` starts an accumulator, ``add(acc, value)`` adds a value and returns the
    accumulator, ``extract(acc)`` returns the result. ``add`` may change the accumulator in place.

    Each pane is computed from its values, in the order of event time. So sessions that merge and
    values that are retracted need no other functions. The values stay in the state until
    their window expires.

    >>> product = combine("factor", create=lambda: 1, add=lambda a, v: a * v,
    ...                   extract=lambda a: a, returns="bigint")
    >>> product.of
    'factor'
    """
    for given, role in ((create, "create"), (add, "add"), (extract, "extract")):
        _callable(given, role)
    if returns is None:
        raise PlanError(
            "MS113",
            "combine() has no type for its result",
            fix="name the Spark type of its result: combine(…, returns='bigint')",
        )
    return Combine(of, create=create, add=add, extract=extract, returns=returns)


def _callable(value: object, role: str) -> None:
    if not callable(value):
        raise PlanError(
            "MS113", f"combine({role}={value!r}) is no function", fix=f"give {role}= a function"
        )


def _fraction(q: float, name: str) -> float:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise PlanError(
            "MS113",
            f"{name}(q={q!r}): q must be a number from 0 to 1",
            fix="give a fraction, such as 0.99 for the 99th percentile",
        )
    return float(q)
