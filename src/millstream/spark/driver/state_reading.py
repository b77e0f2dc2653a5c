"""Reads the state of a job from its checkpoint, as it was after the last committed batch.

Spark's own reader of state does this, so the job may run or not, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.engine.operator import least
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Document
from millstream.engine.state.inspection import StepState, by_step, oldest_window, rows_with_key
from millstream.spark.compat.state_files import stages_in
from millstream.spark.worker.processor import DOCUMENT
from millstream.system.folders import Folder

Looked = tuple[int | None, bytes | None]
"""What is found in a table: the start of its oldest window, or rows."""
_COLUMNS = "step string, bucket string, name string, start bigint, rows binary"
_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("step", "bucket", "name"), pa.string()),
        "start": pa.int64(),
        "rows": pa.binary(),
    }
)


@dataclass(frozen=True)
class Found:
    """The rows of a key in one table or part of a step."""

    step: str
    bucket: str
    table: str
    rows: pl.DataFrame


def blobs_of(spark: SparkSession, folder: str, stage: int) -> DataFrame:
    """All that the shards of a stage have: ``shard``, which is its label, ``name`` and ``blob``."""
    # Who reads a snapshot reports that to a coordinator, which a session has once it has been asked
    # for its queries.
    _ = spark.streams
    reader = spark.read.format("statestore").option("path", f"{folder}/spark")
    state = reader.option("operatorId", stage).option("stateVarName", "tables").load()
    return state.selectExpr(
        "key.shard AS shard", "user_map_key.name AS name", "user_map_value.blob AS blob"
    )


def documents_of(spark: SparkSession, folder: str, stage: int) -> dict[int, Document]:
    """The documents of a stage's shards, by their labels."""
    found = blobs_of(spark, folder, stage).filter(f"name = '{DOCUMENT}'").collect()
    return {row["shard"]: Document.from_json(bytes(row["blob"])) for row in found}


def state_by_step(spark: SparkSession, folder: str) -> dict[str, StepState]:
    """How much state each step has, and its oldest window."""
    found: dict[str, StepState] = {}
    for stage in _stages(folder):
        mine = by_step(documents_of(spark, folder, stage).values())
        if any(each.rows and each.oldest is None for each in mine.values()):
            # Buckets that are parts of the keys do not name windows, but their rows do.
            for row in _looked_through(blobs_of(spark, folder, stage), _starts):
                mine[row["step"]].oldest = least(mine[row["step"]].oldest, row["start"])
        found |= mine
    return found


def rows_of_key(spark: SparkSession, folder: str, key: Sequence[str]) -> list[Found]:
    """The rows that the state has of a key, in all steps that have as many keys."""

    def look(table: pl.DataFrame) -> Looked:
        rows = rows_with_key(table, key)
        return None, packed(rows) if rows.height else None

    found = []
    for stage in _stages(folder):
        for row in _looked_through(blobs_of(spark, folder, stage), look):
            rows = unpacked(bytes(row["rows"]))
            found.append(Found(row["step"], row["bucket"], row["name"], rows))
    return sorted(found, key=lambda each: (each.step, each.bucket, each.table))


def _stages(folder: str) -> list[int]:
    return stages_in(Folder.of("checkpoint", folder, "checkpoint"))


def _starts(table: pl.DataFrame) -> Looked:
    return oldest_window(table), None


def _looked_through(blobs: DataFrame, look: Callable[[pl.DataFrame], Looked]) -> list[Row]:
    """What is found in tables and parts, where they are: the start of a window, or rows."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for each in batch.to_pylist():
                if each["name"] == DOCUMENT:
                    continue
                start, rows = look(unpacked(each["blob"]))
                if start is not None or rows is not None:
                    step, bucket, name = each["name"].rsplit("/", 2)
                    found = {"step": step, "bucket": bucket, "name": name}
                    found |= {"start": start, "rows": rows}
                    yield pa.RecordBatch.from_pylist([found], schema=_SCHEMA)

    return blobs.mapInArrow(run, _COLUMNS).collect()
