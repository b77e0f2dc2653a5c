"""The pages of an operator: tables of buckets that are read and written one by one, by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from millstream.engine.operator import BucketName, PageName
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.store import OperatorState, table_name


class StoredPages:
    """The pages of an operator in one shard."""

    def __init__(self, state: OperatorState) -> None:
        self._state = state

    def read(self, bucket: BucketName, name: str) -> pl.DataFrame:
        """A page that is there."""
        return unpacked(self._state.read(table_name(bucket, name)))

    def write(self, pages: Mapping[PageName, pl.DataFrame | None]) -> dict[BucketName, int]:
        """Writes and removes pages; returns by how many bytes those of each bucket have grown."""
        grown: dict[BucketName, int] = defaultdict(int)
        for (bucket, page), table in pages.items():
            name = table_name(bucket, page)
            grown[bucket] -= self._state.size(name)
            if table is None:
                self._state.remove(name)
            else:
                blob = packed(table)
                self._state.write(name, blob)
                grown[bucket] += len(blob)
        return grown
