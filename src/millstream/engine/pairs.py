"""The rows of a join in windows: what the lists of a cogroup's panes have in common.

A pane has two lists of rows, ``value 0`` and ``value 1``. Each row that is made of it has the other
columns of the pane, and one row of each list, or null where it is padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from millstream.engine.tables import concatenated

LEFT, RIGHT = "value 0", "value 1"
_PANE = "pane_number"

Holds = Callable[[pl.DataFrame], pl.Series]
"""Which pairs match, by a further condition."""


def paired(
    panes: pl.DataFrame, keys: Sequence[str], how: str, holds: Holds | None = None
) -> pl.DataFrame:
    """The rows of each pane, pane by pane. Those whose keys are null match nothing."""
    numbered = panes.with_row_index(_PANE)
    known = pl.all_horizontal(pl.col(key).is_not_null() for key in keys)
    made = _by_lists(numbered, known, how) if holds is None else _by(holds, numbered, known, how)
    rows = concatenated(*(part for part in made if part.height))
    if rows is None:
        return panes.clear().with_columns(pl.lit(None).alias(name) for name in (LEFT, RIGHT))
    in_order = rows if rows[_PANE].is_sorted() else rows.sort(_PANE, maintain_order=True)
    return in_order.drop(_PANE)


def _by_lists(panes: pl.DataFrame, known: pl.Expr, how: str) -> list[pl.DataFrame]:
    """Without a condition, all rows of a pane match, or none."""
    match = known & (pl.col(LEFT).list.len() > 0) & (pl.col(RIGHT).list.len() > 0)
    met, lone = panes.filter(match), panes.filter(~match)
    none = pl.lit(None)
    return [
        *([met.explode(LEFT).explode(RIGHT)] if how not in ("semi", "anti") else []),
        *([_exploded(met, LEFT).with_columns(none.alias(RIGHT))] if how == "semi" else []),
        *([_exploded(lone, LEFT).with_columns(none.alias(RIGHT))] if _pads_left(how) else []),
        *([_exploded(lone, RIGHT).with_columns(none.alias(LEFT))] if _pads_right(how) else []),
    ]


def _by(holds: Holds, panes: pl.DataFrame, known: pl.Expr, how: str) -> list[pl.DataFrame]:
    """With one, each pair is asked for."""
    lefts = _exploded(panes.drop(RIGHT), LEFT).with_row_index("left")
    rights = _exploded(panes.select(_PANE, RIGHT), RIGHT).with_row_index("right")
    pairs = lefts.filter(known).join(rights, on=_PANE, maintain_order="left_right")
    met = pairs.filter(holds(pairs)) if pairs.height else pairs
    none = pl.lit(None)
    alone = lefts.join(met, on="left", how="anti", maintain_order="left")
    others = rights.join(met, on="right", how="anti", maintain_order="left")
    whole = panes.drop(LEFT, RIGHT)
    made = [
        *([met] if how not in ("semi", "anti") else []),
        *([lefts.join(met, on="left", how="semi", maintain_order="left")] if how == "semi" else []),
        *([alone.with_columns(none.alias(RIGHT))] if _pads_left(how) else []),
        *([others.join(whole, on=_PANE, maintain_order="left")] if _pads_right(how) else []),
    ]
    columns = {LEFT, RIGHT, *whole.columns}
    return [
        part.with_columns(none.alias(n) for n in (LEFT, RIGHT) if n not in part.columns).select(
            sorted(columns)
        )
        for part in made
    ]


def _exploded(panes: pl.DataFrame, column: str) -> pl.DataFrame:
    """A row for each of a list; an empty list has none."""
    return panes.filter(pl.col(column).list.len() > 0).explode(column)


def _pads_left(how: str) -> bool:
    return how in ("left", "full", "anti")


def _pads_right(how: str) -> bool:
    return how in ("right", "full")
