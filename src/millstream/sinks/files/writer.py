"""Writes the rows of a slice to hidden files, which a commit makes visible."""

from __future__ import annotations

import json
from contextlib import suppress
from secrets import token_hex

import pyarrow as pa

from millstream.plan.targets import Files
from millstream.sinks.files.formats import Encoder, Settings, encoder_of, settings_of
from millstream.sinks.files.names import hidden_folder
from millstream.sinks.files.partitions import by_folder
from millstream.sinks.slices import Slice
from millstream.system.folders import Folder

# A row group is written when it has so many rows or bytes: large enough to be read fast, small
# enough that a task has little more than one in memory.
_GROUP_ROWS = 128 * 1024
_GROUP_BYTES = 64 * 1024 * 1024
_MOST_OPEN = 64


class FilesWriter:
    """Writes a slice to hidden files, one for each folder that has rows of it.

    It keeps little more rows in memory than those of a group, whatever folders they are for. If
    there are many folders, it closes the least recently written file: more rows go to a further
    one.
    """

    def __init__(self, folder: Folder, target: Files, slice: Slice) -> None:
        self._folder = folder
        self._settings = settings_of(target)
        self._columns = target.partition_by
        self._slice = slice
        self._hidden = hidden_folder(slice.run, slice.owner)
        self._waiting: dict[str, list[pa.Table]] = {}
        self._rows = self._bytes = 0
        self._open: dict[str, _File] = {}
        self._written: dict[str, str] = {}

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows until they fill a group."""
        if not rows.num_rows:
            return
        for folder, part in by_folder(rows, self._columns):
            self._waiting.setdefault(folder, []).append(part)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write_groups()

    def close(self) -> bytes:
        """Ends the files; a slice without rows has none."""
        self._write_groups()
        with self._folder.errors():
            for file in self._open.values():
                file.close()
        if not self._written:
            return b""
        return json.dumps({"slice": self._slice.number, "files": self._written}).encode()

    def abort(self) -> None:
        """Removes the files; errors are ignored, because the first one was reported."""
        self._waiting.clear()
        for file in self._open.values():
            file.abort()
        for name in self._written:
            with suppress(OSError):
                self._folder.remove(f"{self._hidden}/{name}")

    def _write_groups(self) -> None:
        self._rows = self._bytes = 0
        waiting, self._waiting = self._waiting, {}
        with self._folder.errors():
            for folder, tables in waiting.items():
                rows = pa.concat_tables(tables)
                groups = max(1, rows.num_rows // _GROUP_ROWS)
                size = -(-rows.num_rows // groups)
                file = self._file(folder)
                for start in range(0, rows.num_rows, size):
                    file.write(rows.slice(start, size))

    def _file(self, folder: str) -> _File:
        file = self._open.pop(folder, None)
        if file is None:
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            # Numbers of attempts start again with each start of Spark, while a decision may still
            # name a file of an earlier one: so names are unique without them.
            of = self._slice
            name = f"{of.batch:010}-{of.number:05}-{of.attempt}-{token_hex(4)}.tmp"
            self._folder.make(self._hidden)
            self._written[name] = folder
            file = _File(self._folder, f"{self._hidden}/{name}", self._settings)
        self._open[folder] = file  # at the end: it is the most recently written
        return file


class _File:
    """A file that is being written."""

    def __init__(self, folder: Folder, name: str, settings: Settings) -> None:
        self._stream = folder.create(name, settings.stream_compression)
        self._encoder: Encoder = encoder_of(settings, self._stream)

    def write(self, rows: pa.Table) -> None:
        self._encoder.write(rows)

    def close(self) -> None:
        self._encoder.close()
        self._stream.close()

    def abort(self) -> None:
        for each in (self._encoder, self._stream):
            with suppress(OSError, ValueError):  # ValueError: of a stream that is closed
                each.close()
