"""The formats of files: how rows become bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.plan.build.file_options import write_defaults
from millstream.plan.targets import FileFormat, Files
from millstream.sinks.texts import json_lines, plain

_ENDINGS: dict[FileFormat, str] = {
    "parquet": "parquet",
    "json": "json",
    "csv": "csv",
    "text": "txt",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The format of a sink's files, and its options."""

    format: FileFormat
    options: dict[str, str]

    @property
    def ending(self) -> str:
        """How the names of files end: readers guess the format and the compression from it."""
        return _ENDINGS[self.format] + (".gz" if self.stream_compression else "")

    @property
    def stream_compression(self) -> str | None:
        """The compression of a whole file; parquet compresses its pages instead."""
        whole = self.format != "parquet" and self.options["compression"] == "gzip"
        return "gzip" if whole else None


def settings_of(target: Files) -> Settings:
    """The settings of a sink.

    >>> settings_of(Files("/data/totals", "csv", (("sep", ";"),))).options
    {'compression': 'none', 'header': 'true', 'sep': ';'}
    """
    return Settings(target.format, {**write_defaults(target.format), **dict(target.options)})


class Encoder(Protocol):
    """Writes tables to a stream; each has the columns of the first."""

    def write(self, rows: pa.Table) -> None:
        """Writes some rows."""

    def close(self) -> None:
        """Writes what must come last."""


def encoder_of(settings: Settings, stream: pa.NativeFile) -> Encoder:
    """What writes rows to a stream in the format of the settings."""
    match settings.format:
        case "parquet":
            return _Parquet(stream, settings.options["compression"])
        case "csv":
            return _Csv(stream, settings.options)
        case "json":
            return _Lines(stream, json_lines)
        case "text":
            return _Lines(stream, _text_lines)


class _Parquet:
    def __init__(self, stream: pa.NativeFile, compression: str) -> None:
        self._stream = stream
        self._compression = compression
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._stream, rows.schema, compression=self._compression
            )
        self._writer.write_table(rows, row_group_size=rows.num_rows)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _Lines:
    def __init__(self, stream: pa.NativeFile, lines: Callable[[pl.DataFrame], pl.Series]) -> None:
        self._stream = stream
        self._lines = lines

    def write(self, rows: pa.Table) -> None:
        lines = self._lines(_frame(rows))
        self._stream.write(f"{lines.str.join(chr(10)).item()}\n".encode())

    def close(self) -> None:
        """Each line is complete."""


class _Csv:
    def __init__(self, stream: pa.NativeFile, options: dict[str, str]) -> None:
        self._stream = stream
        self._sep = options["sep"]
        self._header = options["header"] == "true"

    def write(self, rows: pa.Table) -> None:
        frame = _frame(rows)
        columns = enumerate(frame.schema.items())
        texts = frame.select(plain(pl.nth(n), type).alias(name) for n, (name, type) in columns)
        text = texts.write_csv(
            include_header=self._header,
            separator=self._sep,
            # Readers skip empty lines: so the null of an only column is written as "".
            null_value='""' if texts.width == 1 else "",
        )
        self._stream.write(text.encode())
        self._header = False

    def close(self) -> None:
        """Each line is complete."""


def _text_lines(rows: pl.DataFrame) -> pl.Series:
    (column,) = rows
    return column.cast(pl.String).fill_null("")


def _frame(rows: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    return frame
