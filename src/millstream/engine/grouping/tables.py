"""The tables that a grouping keeps from batch to batch, and those that it puts out."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from millstream.model.aggregates import Aggregate
from millstream.model.instants import START_OF_TIME


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate, the name of its result, and the columns of its inputs."""

    name: str
    aggregate: Aggregate
    of: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """All that a grouping remembers. Tables are None until something is in them.

    ``panes`` has a row for each key and live window; ``elements`` what results are computed from
    where accumulators do not do; ``emitted`` the panes that a retracting grouping stands by, each
    with the window it is ``of`` and the live window (``start``, ``end``) that owns it now.
    """

    panes: pl.DataFrame | None = None
    elements: pl.DataFrame | None = None
    emitted: pl.DataFrame | None = None
    watermark: int = START_OF_TIME
    output_watermark: int = START_OF_TIME
    now: int = 0


@dataclass(slots=True)
class Output:
    """What a step lets out: panes and late rows.

    ``order`` tells the panes of a batch (0), of the watermark (1) and of the clock (2) apart; among
    those of one order, windows come by end and start, and then by key.
    """

    panes: list[pl.DataFrame] = field(default_factory=list)
    late: list[pl.DataFrame] = field(default_factory=list)


def concatenated(*tables: pl.DataFrame | None) -> pl.DataFrame | None:
    """The rows of all tables that there are; columns that one lacks are null."""
    there = [table for table in tables if table is not None]
    if len(there) < 2:
        return there[0] if there else None
    return pl.concat(there, how="diagonal_relaxed")


def without(table: pl.DataFrame | None, others: pl.DataFrame, on: list[str]) -> pl.DataFrame | None:
    """The rows of a table that no row of ``others`` names."""
    if table is None or not others.height:
        return table
    return table.join(others, on=on, how="anti", nulls_equal=True, maintain_order="left")
