"""Columns that a user's ``on_batch`` returns or emits, held to the types that were declared."""

from __future__ import annotations

import polars as pl

from millstream.model.errors import RunError
from millstream.plan.operators.process import Processing


def fitted(
    table: pl.DataFrame, name: str, type: pl.DataType, whose: str, what: Processing
) -> pl.Series:
    """A column in its declared type; refused where that would change what a value is."""
    if name not in table.columns:
        raise RunError(
            "MS202",
            f"{whose} has no column {name!r}; its columns are {', '.join(table.columns)}",
            fix=f"add it: .with_columns({name}=…)",
            step=what.step,
        )
    column = table[name]
    if column.dtype == type:
        return column
    try:
        if _converts(column.dtype, type):
            return column.cast(type)
        why = "and is not converted to it"
    except pl.exceptions.PolarsError as error:
        why = str(error)
    raise RunError(
        "MS202",
        f"column {name!r} of {whose} is {column.dtype}, and is declared as {type}: {why}",
        fix="cast it in on_batch, or declare another type",
        step=what.step,
    )


def _converts(given: pl.DataType, type: pl.DataType) -> bool:
    if given == pl.Null or given.base_type() == type.base_type():
        return True
    to_number = type.is_integer() or type.is_float() or type.is_decimal()
    return given.is_integer() and to_number
