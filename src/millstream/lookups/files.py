"""A table in files, which may be read again while a program runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl
import pyarrow as pa

from millstream.engine.python_rows import python_rows
from millstream.engine.rows import to_arrow
from millstream.engine.types import arrow_type
from millstream.lookups.static import StaticTable, by_key
from millstream.model.durations import format_duration
from millstream.model.errors import RunError
from millstream.plan.lookup import Find, Reload, TableFormat
from millstream.plan.types.schema import Schema

log = logging.getLogger("millstream")

Stamp = tuple[tuple[str, int, int], ...]
"""The names, times and sizes of the files: if these are the same, so is the table."""


@dataclass(frozen=True)
class FilesTable:
    """A file, or all files in a folder. ``whole`` has the keys, too."""

    path: str
    format: TableFormat
    whole: Schema
    keys: tuple[str, ...]
    reload: Reload

    def __str__(self) -> str:
        again = "once" if self.reload is None else "again if they change"
        if isinstance(self.reload, int):
            again = f"every {format_duration(self.reload)}"
        return f"{self.format} files in {self.path}, read {again}"

    @property
    def schema(self) -> Schema:
        """The columns that are not keys."""
        return Schema(tuple(f for f in self.whole if f.name not in self.keys))

    @property
    def changes(self) -> bool:
        """Whether the files are read again."""
        return self.reload is not None

    def open(self) -> OpenFiles:
        """Reads the files when they are first needed."""
        return OpenFiles(self)

    def stamp(self) -> Stamp:
        """What the files are now."""
        path = Path(self.path)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        shown = [each for each in files if each.is_file() and each.name[0] not in "._"]
        stats = [(str(each), each.stat()) for each in shown]
        return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)

    def read(self) -> pl.DataFrame:
        """All rows of the files."""
        names = [name for name, _, _ in self.stamp()]
        if not names:
            raise FileNotFoundError(f"there is no file in {self.path}")
        frame = pl.concat([self._read(name) for name in names])
        return pl.DataFrame(to_arrow(frame, self._arrow))

    def table(self, frame: pl.DataFrame) -> StaticTable:
        """The table that these rows are."""
        return by_key(python_rows(frame.to_arrow()), self.keys, self.schema, str(self))

    @cached_property
    def _arrow(self) -> pa.Schema:
        return pa.schema([(f.name, arrow_type(str(f.type))) for f in self.whole])

    def _read(self, name: str) -> pl.DataFrame:
        types = pl.DataFrame(self._arrow.empty_table()).schema
        if self.format == "parquet":
            frame = pl.read_parquet(name, columns=list(types))
        elif self.format == "json":
            frame = pl.read_ndjson(name, schema=types)
        else:
            frame = pl.read_csv(name, schema_overrides=types, columns=list(types))
        return frame.select(pl.col(column).cast(kind) for column, kind in types.items())


class OpenFiles:
    """The newest version of a table in files."""

    def __init__(self, table: FilesTable) -> None:
        self._table = table
        self._stamp: Stamp | None = None
        self._read_at = 0
        self.version: pl.DataFrame | None = None
        self._find: Find | None = None

    def at(self, now: int) -> Find:
        """The table, read again if that is due."""
        if self.renew(now) or self._find is None:
            assert self.version is not None
            self._find = self._table.table(self.version).find
        return self._find

    def renewed(self) -> pl.DataFrame:
        """The files as they are now."""
        self.renew(0)
        assert self.version is not None
        return self.version

    def renew(self, now: int) -> bool:
        """Reads the files again if that is due; returns whether they have been.

        What cannot be read then is reported, and the version before it stays in use.
        """
        if self.version is not None and not self._is_due(now):
            return False
        try:
            stamp, version = self._table.stamp(), self._table.read()
            self._table.table(version)
        except RunError:
            if self.version is None:
                raise
            return self._stays("it has two rows of one key, or too many")
        except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
            if self.version is None:
                raise RunError(
                    "MS230",
                    f"the table in {self._table.path!r} cannot be read: {error}",
                    fix="see that the files are there, and have the columns of schema=",
                ) from error
            return self._stays(str(error))
        self._stamp, self._read_at, self.version = stamp, now, version
        return True

    def _stays(self, why: str) -> bool:
        log.warning("the table in %r stays as it was: %s", self._table.path, why)
        return False

    def _is_due(self, now: int) -> bool:
        reload = self._table.reload
        if isinstance(reload, int):
            return now - self._read_at >= reload
        return reload is not None and self._table.stamp() != self._stamp
