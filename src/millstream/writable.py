"""The end of a stream: the methods that return a pipeline, one for each kind of sink."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.model.arguments import checked_count
from millstream.model.errors import PlanError, in_step
from millstream.pipeline import Pipeline
from millstream.plan.build import steps as building
from millstream.plan.build.complete import OutputMode, checked_table
from millstream.plan.build.files import checked_options, files_target
from millstream.plan.build.kafka_target import kafka_target
from millstream.plan.checks.each_function import checked_each
from millstream.plan.explain.details import setting_lines
from millstream.plan.lineage import taking_back
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Node
from millstream.plan.settings import NOTHING_SET, Settings
from millstream.plan.targets import (
    ChangeFormat,
    Console,
    Delivery,
    Each,
    FileFormat,
    FileMode,
    Memory,
    Table,
    Target,
)


@dataclass(frozen=True, eq=False, repr=False)
class Writable:
    """Rows that can be written: those of a step, if no settings are left for a next one."""

    node: Node
    settings: Settings = NOTHING_SET

    def collect(self, name: str | None = None, *, mode: OutputMode = "append") -> Pipeline:
        """A pipeline that keeps the rows in memory.

        With ``mode="complete"`` it keeps the whole result table of a grouping: a row for each key
        and window, which newer results replace. It is complete after a resume, too.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").collect("numbers")
        <Pipeline: 'numbers'>
        """
        return self._into(Memory(self._table(mode, name)), name)

    def write_files(
        self,
        path: str | os.PathLike[str],
        format: FileFormat = "parquet",
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        *,
        partition_by: str | Iterable[str] = (),
        mode: FileMode | None = None,
    ) -> Pipeline:
        """A pipeline that writes the rows to files in a folder, each row exactly once.

        Rows with equal values in the columns of ``partition_by`` are in one folder,
        ``team=red/day=2026-11-17``, as Spark, Hive and Polars name and read them.

        ``mode`` is for a run over bounded sources without a checkpoint: a second run would write
        all its rows a second time. So it is an error if the folder already has results,
        ``"error"``, unless the run adds to them, ``"append"``, or replaces them when it has
        succeeded, ``"overwrite"``.

        ``options`` have the names of Spark: ``compression``, and for csv ``sep`` and ``header``,
        which is written by default. Text files hold one column of STRING; csv files hold no arrays,
        maps and structs, so neither ``window`` nor ``pane``.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.write_files("/data/numbers", format="csv", options={"header": True})
        <Pipeline: 'write_files-1'>
        >>> teams = ms.from_rows([("red", 1)], schema="team string, n int")
        >>> teams.write_files("/data/teams", partition_by="team", mode="overwrite")
        <Pipeline: 'write_files-1'>
        """
        schema = self.node.schema
        with in_step(automatic_name("write_files", self.node) if name is None else name):
            target = files_target(schema, path, format, options, partition_by, mode)
        return self._into(target, name)

    def write_kafka(
        self,
        topic: str,
        key: str | Iterable[str] | None = None,
        value: str | Iterable[str] | None = None,
        headers: Mapping[str, str] | None = None,
        partition_by: str | Iterable[str] | None = None,
        changes: ChangeFormat = "changelog",
        delivery: Delivery = "exactly_once",
        servers: str | Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Pipeline:
        """A pipeline that writes each row as a record to a Kafka topic, exactly once.

        ``key`` and ``value`` name a column, which is written as it is, or several, as a JSON
        object. Without them the key is that of the grouping, and the value has all columns.
        ``headers`` maps names to columns; rows with equal values in ``partition_by`` go to one
        partition, instead of those with equal keys.

        Retractions are records, too, marked by the header ``kind``. With ``changes="upsert"`` a
        record replaces the one before it with its key, as in a compacted topic, and a row that is
        retracted and not replaced becomes a tombstone.

        Readers must use ``read_committed`` to see each row once; ``at_least_once`` writes
        without transactions. ``servers`` and ``options`` are as in ``read_kafka``.

        >>> import millstream as ms
        >>> totals = ms.from_rows([("red", 2)], "team string, n int").key_by("team").group()
        >>> totals.write_kafka("totals")
        <Pipeline: 'write_kafka-1'>
        """
        with in_step(automatic_name("write_kafka", self.node) if name is None else name):
            target = kafka_target(
                self.node, topic, key, value, headers, partition_by, changes, delivery, servers,
                checked_options(options),
            )  # fmt: skip
        return self._into(target, name)

    def write_console(
        self, limit: int = 20, name: str | None = None, *, mode: OutputMode = "append"
    ) -> Pipeline:
        """A pipeline that prints the rows, at most the first ``limit`` of each batch.

        With ``mode="complete"`` it prints the whole result table whenever it has changed: see
        ``collect``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").write_console()
        <Pipeline: 'write_console-1'>
        """
        count = checked_count(limit, "limit", example=20)
        retracts = taking_back(self.node) is not None
        return self._into(Console(count, retracts, self._table(mode, name)), name)

    def write_each(
        self,
        function: Callable[[list[dict[str, Any]], int, int], Any],
        name: str | None = None,
        *,
        mode: OutputMode = "append",
    ) -> Pipeline:
        """A pipeline that calls a function with rows, their batch and their slice.

        After a failure a batch may be retried, in the same slices. A function that stores (batch,
        slice) with what it writes can then skip what it has already written.

        With ``mode="complete"`` the function gets the whole result table whenever a batch has
        changed it, as slice 0, and is called in your program instead of Spark's workers: see
        ``collect``.

        >>> import millstream as ms
        >>> def save(rows: list[dict[str, object]], batch: int, slice: int) -> None:
        ...     print(f"{len(rows)} rows of slice {slice} of batch {batch}")
        >>> ms.from_rows([(1,), (2,)], schema="n int").write_each(save)
        <Pipeline: 'write_each-1'>
        """
        return self._into(Each(checked_each(function), self._table(mode, name)), name)

    def _table(self, mode: OutputMode, sink: str | None) -> Table | None:
        return checked_table(self.node, mode, sink)

    def _into(self, target: Target, name: str | None) -> Pipeline:
        if self.settings:
            settings = ", ".join(map(" ".join, setting_lines(self.settings)))
            raise PlanError(
                "MS117",
                f"{target.kind}() comes after settings without their grouping: {settings}",
                fix="add .aggregate(…) or .group() before it, or leave the settings out",
            )
        return Pipeline((building.sink(self.node, target, name),))
