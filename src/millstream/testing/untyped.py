"""Columns of Python values of unknown type: the type is found from the values."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from millstream.plan.types.values import MisfitError
from millstream.reference.ordering import ordering


class UntypedColumn:
    """Makes columns of values, batch by batch; the type widens with them, as from INT to DOUBLE.

    >>> column = UntypedColumn("points")
    >>> column.of([1, None]).to_list(), column.of([2.5]).to_list(), column.of([3]).to_list()
    ([1, None], [2.5], [3.0])
    >>> column.of(["many"])
    Traceback (most recent call last):
        ...
    millstream.plan.types.values.MisfitError: no type holds both 1 and 'many'
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._type = pa.null()
        self._seen: list[Any] = []

    def of(self, values: list[Any]) -> pl.Series:
        """The values as a column, or MisfitError if they have no common type."""
        self._seen += values
        try:
            if pa.infer_type(values) == self._type:
                return self._holding(values)
            self._type = pa.infer_type(self._seen)
            return self._holding(self._seen).tail(len(values))
        except (pa.ArrowException, OverflowError, UnicodeError):
            raise self._misfit() from None

    def _holding(self, values: list[Any]) -> pl.Series:
        if "decimal256" in str(self._type):
            raise OverflowError  # Polars has no such type
        column = pl.Series(self._name, pa.array(values, self._type))
        # Some values would change: dicts with different keys, or times with and without a zone.
        # A column with other values than the given ones would be worse than an error.
        if list(map(ordering, column.to_list())) != list(map(ordering, values)):
            raise self._misfit()
        return column

    def _misfit(self) -> MisfitError:
        known = [value for value in self._seen if value is not None]
        first, last = known[0], known[-1]
        if len(known) > 1:
            return MisfitError(f"no type holds both {first!r} and {last!r}")
        return MisfitError(f"no type holds {first!r}")
