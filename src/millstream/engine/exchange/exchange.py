"""What every operator has before its shuffle: rows in, arrivals for shards out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import polars as pl

from millstream.engine.state.arrivals import Arrival


class Exchange(Protocol):
    """Takes the tables of a task as they come, and cuts them into the arrivals of each shard."""

    def take(self, batch: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        """Takes some rows; gives arrivals once there are many."""

    def rest(self) -> Iterator[tuple[int, Arrival]]:
        """The arrivals of all rows that are left."""
