"""The tables that a grouping keeps from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from millstream.engine.operator import Tables
from millstream.model.aggregates import Aggregate
from millstream.model.instants import START_OF_TIME


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate, the name of its result, and the columns of its inputs."""

    name: str
    aggregate: Aggregate
    of: str | None = None
    by: str | None = None


_NAMES = ("panes", "elements", "emitted", "sequences")


@dataclass(frozen=True, slots=True)
class State:
    """All that a grouping remembers, and where time is. Tables are None until they have rows.

    ``panes`` has a row for each key and live window; ``elements`` what results are computed from
    where accumulators do not do; ``emitted`` the panes that a retracting grouping may take back,
    each with the window it is ``of`` and the live window (``start``, ``end``) that owns it now.
    ``sequences`` has a row for each key, where the order of rows makes windows.
    """

    panes: pl.DataFrame | None = None
    elements: pl.DataFrame | None = None
    emitted: pl.DataFrame | None = None
    sequences: pl.DataFrame | None = None
    watermark: int = START_OF_TIME
    now: int = 0

    @classmethod
    def of(cls, tables: Tables, watermark: int, now: int) -> State:
        """The state that these tables are."""
        found = {name: tables.get(name) for name in _NAMES}
        return cls(**found, watermark=watermark, now=now)

    @property
    def tables(self) -> Tables:
        """The tables that there are; one without rows still says its types."""
        named = {name: getattr(self, name) for name in _NAMES}
        return {name: table for name, table in named.items() if table is not None}
