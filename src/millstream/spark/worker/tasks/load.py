"""Reads files in Python: those that rows name, or whose content rows have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from millstream.engine.rows import from_arrow, rejected_rows, with_places, with_time
from millstream.plan.layouts import Layout
from millstream.plan.records import record_text
from millstream.spark.sources.kafka_records import as_text
from millstream.spark.sources.loading import CONTENT, PATH, Decoded, decoded_lines, loaded
from millstream.spark.worker.tasks.task import RejectingTask

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


_PLACE = "__millstream_row"


@dataclass(kw_only=True)
class Load(RejectingTask):
    """Reads files; lines that cannot be decoded are rejected.

    ``below`` is how many folders deep the source's own path is; with a ``layout`` the files are
    lines of text, without one parquet. Rows with equal values in the column ``split`` are of one
    split.
    """

    below: int
    schema: pa.Schema
    layout: Layout | None
    split: str | None
    ordered: bool
    """Whether rows get their places."""

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        run.later(self._load(rows, run))

    def _load(self, rows: pl.DataFrame, run: StageRun) -> Iterator[None]:
        contents = rows[CONTENT] if CONTENT in rows.columns else [None] * rows.height
        for path, content in zip(rows[PATH], contents, strict=True):
            number, file = 0, path.removeprefix("file:")
            for part in self._parts(path, content):
                run.counts.add(self.step, "read", part.rows.height + len(part.rejected))
                self._reject(file, part, run)
                made = with_time(part.rows)
                if self.ordered:
                    made = with_places(made, self.step, path, number)
                    number += made.height
                self._split(made, file, part, run)
                yield

    def _parts(self, path: str, content: bytes | None) -> Iterator[Decoded]:
        if self.layout is None:
            tables = loaded(self.step, path, self.below, self.schema)
            return (Decoded(from_arrow(table)) for table in tables)
        return decoded_lines(self.step, path, content, self.layout, self.below, self.schema)

    def _reject(self, file: str, part: Decoded, run: StageRun) -> None:
        records = [
            record_text({"file": file, "line": line, "value": as_text(text)})
            for line, text, _ in part.rejected
        ]
        reasons = [why for _, _, why in part.rejected]
        run.reject(self.step, rejected_rows(self.step, reasons, records), self.rejected)

    def _split(self, rows: pl.DataFrame, file: str, part: Decoded, run: StageRun) -> None:
        if self.split is None:
            run.where = partial(_where, file, part)
            self.give(rows, run)
            return
        split = rows.with_row_index(_PLACE).partition_by(self.split, as_dict=True)
        for (value,), some in split.items():
            run.split = "" if value is None else str(pl.Series([value]).cast(pl.String)[0])
            places = some[_PLACE]
            run.where = lambda place, places=places: _where(file, part, places[place])
            self.give(some.drop(_PLACE), run)


def _where(file: str, part: Decoded, place: int) -> str:
    """Where a row is, by its place among those of a part of a file."""
    return f"in line {part.numbers[place]} of {file}" if part.lines else f"in the file {file}"
