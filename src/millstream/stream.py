"""The fluent API: what a user's program is written in. Each method adds a step or a setting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from millstream.model.aggregates import Collect
from millstream.model.durations import Duration
from millstream.model.errors import PlanError
from millstream.model.refinements import Refinement
from millstream.model.triggers import Trigger
from millstream.model.watermarks import WatermarkPolicy
from millstream.model.windowing import (
    Windowing,
    checked_closing,
    checked_lateness,
    checked_on_time,
    checked_refinement,
    checked_timestamp,
    checked_trigger,
    checked_window,
)
from millstream.model.windows import Window
from millstream.pipeline import Pipeline, Plan, checked_plan
from millstream.plan.build import steps as building
from millstream.plan.build.complete import OutputMode, checked_table
from millstream.plan.build.files import checked_options, files_target
from millstream.plan.build.grouping import grouping
from millstream.plan.build.kafka_target import kafka_target
from millstream.plan.checks.each_function import checked_each
from millstream.plan.counts import checked_count
from millstream.plan.explain.details import Line, columns, settings
from millstream.plan.explain.drawing import draw_plan
from millstream.plan.explain.text import explain_plan
from millstream.plan.lineage import taking_back
from millstream.plan.names import automatic_name, checked_name, with_distinct_names
from millstream.plan.nodes import Keys, Node, OnError
from millstream.plan.other_words import instead_of
from millstream.plan.steps import in_step
from millstream.plan.targets import (
    Changes,
    Console,
    Delivery,
    Each,
    FileFormat,
    FileMode,
    Memory,
    Table,
    Target,
)
from millstream.plan.types.schema import Schema

_UNSAID = Windowing()


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """Rows on their way through a program. A stream is a value: each method gives a new one.

    ``key_by``, ``window``, ``trigger`` and ``refine`` are settings, which hold until the
    ``aggregate`` or ``group`` that they are for; the result of that starts without any.

    >>> import millstream as ms
    >>> scores = ms.from_rows(
    ...     [("ann", "red", 3, 10.0), ("bob", "red", 4, 70.0)],
    ...     schema="user string, team string, points int, at double", event_time="at")
    >>> scores.key_by("team").window(ms.fixed("1m")).aggregate(total=ms.sum("points"))
    <Stream 'aggregate-1': team STRING, total BIGINT, window, pane>
    """

    node: Node
    keys: Keys = ()
    windowing: Windowing = _UNSAID

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return self.node.schema

    def filter(self, condition: Any, on_error: OnError = "fail") -> Stream:
        """The rows for which the condition, Spark SQL text, is true.

        A row on which it fails, such as one with text where a number is expected, stops the
        pipeline, unless ``on_error`` is ``"reject"`` (it goes to ``.rejected``) or ``"drop"``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1")
        <Stream 'filter-1': n INT>
        """
        return self._then(building.filter(self.node, condition, on_error))

    def select(self, *expressions: Any, on_error: OnError = "fail", **named: Any) -> Stream:
        """New rows, made of columns and expressions; ``on_error`` is as in ``filter``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").select("n", "n * n AS square", half="n / 2")
        <Stream 'select-1': n INT, square INT, half DOUBLE>
        """
        return self._then(building.select(self.node, expressions, named, on_error))

    def with_columns(self, on_error: OnError = "fail", **named: Any) -> Stream:
        """The rows with more columns, or with columns replaced; ``on_error`` is as in ``filter``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").with_columns(square="n * n")
        <Stream 'with_columns-1': n INT, square INT>
        """
        return self._then(building.with_columns(self.node, named, on_error))

    def drop(self, *columns: str) -> Stream:
        """The rows without these columns.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int").aggregate(n=ms.count())
        >>> numbers.drop("window", "pane")
        <Stream 'select-1': n BIGINT>
        """
        return self._then(building.drop(self.node, columns))

    def map(
        self,
        function: Callable[[dict[str, Any]], Any],
        schema: Any = None,
        on_error: OnError = "fail",
    ) -> Stream:
        """One row for each row, made by a function of a dict of columns.

        The result's columns come from ``schema`` or the function's return annotation, a
        dataclass, TypedDict or NamedTuple; of a single column, the function may give the value
        alone. A row on which the function raises stops the pipeline,
        unless ``on_error`` is ``"reject"`` (it goes to ``.rejected``) or ``"drop"``.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.map(lambda row: {"name": f"number {row['n']}"}, schema="name string")
        <Stream 'map-1': name STRING>
        >>> numbers.map(lambda row: row["n"] + 1, schema="next int").collect().run().rows()
        [{'next': 2}, {'next': 3}]
        """
        return self._then(building.function(self.node, "map", function, schema, on_error))

    def flat_map(
        self,
        function: Callable[[dict[str, Any]], Iterable[Any]],
        schema: Any = None,
        on_error: OnError = "fail",
    ) -> Stream:
        """Any number of rows for each row, made by a function that gives an iterable.

        >>> import millstream as ms
        >>> lines = ms.from_rows([("to be or not",)], schema="line string")
        >>> lines.flat_map(lambda row: [(word,) for word in row["line"].split()], "word string")
        <Stream 'flat_map-1': word STRING>
        """
        return self._then(building.function(self.node, "flat_map", function, schema, on_error))

    def map_batches(
        self,
        function: Callable[[list[dict[str, Any]]], Iterable[Any]],
        schema: Any = None,
        on_error: OnError = "fail",
    ) -> Stream:
        """Any number of rows for some rows at a time, which share an event time.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.map_batches(lambda rows: [{"rows": len(rows)}], schema="rows int")
        <Stream 'map_batches-1': rows INT>
        """
        return self._then(building.function(self.node, "map_batches", function, schema, on_error))

    def with_event_time(self, column: str, watermark: WatermarkPolicy | None = None) -> Stream:
        """The rows with the event time that a column says.

        The column holds timestamps, dates, or numbers of seconds since 1970-01-01 UTC.

        >>> import millstream as ms
        >>> ms.from_rows([(10.0,)], schema="at double").with_event_time("at", ms.bounded("30s"))
        <Stream 'event_time-1': at DOUBLE>
        """
        return self._then(building.event_time(self.node, column, watermark))

    def key_by(self, *keys: Any, **named: Any) -> Stream:
        """Groups are formed by these columns or expressions, or by one function of the row.

        A function's result is the column ``key``, whose type the function's annotation says, or
        ``type=`` in Spark DDL: ``key_by(lambda row: row["word"][0], type="string")``.

        >>> import millstream as ms
        >>> words = ms.from_rows([("to",), ("be",)], schema="word string")
        >>> words.key_by(first="substring(word, 1, 1)")
        <Stream 'rows-1': word STRING; key first = SUBSTRING(word, 1, 1)>
        """
        return replace(self, keys=building.keys(self.node, keys, named))

    def window(
        self,
        kind: Window,
        allowed_lateness: Duration = 0,
        on_time: Literal["always", "if_changed"] = "always",
        closing: Literal["if_changed", "always"] = "if_changed",
        timestamp: Literal["end", "earliest", "latest"] = "end",
    ) -> Stream:
        """Where in event time results are computed.

        ``allowed_lateness`` is how long a window takes data after the watermark has passed its end.
        ``on_time`` says whether the pane at the window's end comes also when nothing changed,
        ``closing`` the same for a last pane when the window expires, and ``timestamp`` which event
        time results carry: the window's end, or that of their earliest or latest element.

        >>> import millstream as ms
        >>> clicks = ms.from_rows([("ann", 1.0)], schema="user string, at double", event_time="at")
        >>> clicks.window(ms.session("30m"), allowed_lateness="1h")
        <Stream 'event_time-1': user STRING, at DOUBLE; window session('30m'), allowed lateness 1h>
        """
        return self._with(
            window=checked_window(kind),
            allowed_lateness=checked_lateness(allowed_lateness),
            on_time=checked_on_time(on_time),
            closing=checked_closing(closing),
            timestamp=checked_timestamp(timestamp),
        )

    def trigger(self, trigger: Trigger, allow_data_loss: bool = False) -> Stream:
        """When in processing time results are emitted.

        A trigger that may finish while data can still come is refused, unless
        ``allow_data_loss`` says that it is meant.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.trigger(ms.repeatedly(ms.after_count(100)))
        <Stream 'rows-1': n INT; trigger repeatedly(after_count(100))>
        """
        return self._with(trigger=checked_trigger(trigger), allow_data_loss=bool(allow_data_loss))

    def refine(self, refinement: Refinement) -> Stream:
        """How the panes of a window relate: discarding, accumulating or retracting.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").refine(ms.retracting)
        <Stream 'rows-1': n INT; refine retracting>
        """
        return self._with(refine=checked_refinement(refinement))

    def aggregate(self, **aggregates: Any) -> Stream:
        """What is computed for each key and window: names and aggregates.

        The result has the keys, the aggregates, ``window``, ``pane`` and, if it is retracting,
        ``kind`` (``"+"``, or ``"-"`` for a row that takes back an earlier one).

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.key_by(odd="n % 2 = 1").aggregate(total=ms.sum("n")).schema.names
        ('odd', 'total', 'window', 'pane')
        """
        return Stream(grouping(self.node, self.keys, self.windowing, aggregates))

    def group(self) -> Stream:
        """All rows of each key and window as a list, ``values``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").group().schema.find("values")
        Field(name='values', type='ARRAY<STRUCT<n: INT>>')
        """
        return self.aggregate(values=Collect())

    def union(self, *others: Stream) -> Stream:
        """The rows of this stream and of others with the same columns.

        >>> import millstream as ms
        >>> one, two = ms.from_rows([(1,)], schema="n int"), ms.from_rows([(2,)], schema="n int")
        >>> one.union(two)
        <Stream 'union-1': n INT>
        """
        for other in others:
            if not isinstance(other, Stream):
                raise PlanError(
                    "MS113",
                    f"union() takes streams, not {other!r}",
                    fix="give streams made by ms.from_rows(…) and the like",
                )
        node = building.union(self.node, *(other.node for other in others))
        with in_step(node.name):
            return Stream(node, *building.united_settings(self._said, *(s._said for s in others)))

    @property
    def late(self) -> Stream:
        """What came too late for this grouping: its input rows, with ``window`` and ``reason``.

        The rows must not have columns of these names already.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").group().late.schema.names
        ('n', 'window', 'reason')
        """
        return Stream(building.late(self.node))

    @property
    def rejected(self) -> Stream:
        """What any step behind this stream rejected: ``step``, ``reason`` and ``record``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").rejected
        <Stream 'rejected-1': step STRING, reason STRING, record STRING>
        """
        return Stream(building.rejected(self.node))

    def named(self, name: str) -> Stream:
        """This stream with a name for its latest step, which is otherwise numbered.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1").named("big")
        <Stream 'big': n INT>
        """
        if self._settings:
            raise PlanError(
                "MS117",
                f"named({name!r}) comes between settings and the grouping that they are for",
                fix=f"name the grouping itself: .aggregate(…).named({name!r}), or the step before "
                f"the settings: .named({name!r}).key_by(…)",
            )
        return Stream(building.named(self.node, checked_name(name)))

    def collect(self, name: str | None = None, *, mode: OutputMode = "append") -> Pipeline:
        """A pipeline that keeps the rows in memory.

        With ``mode="complete"`` it keeps the whole result table of a grouping: a row for each key
        and window, which newer results replace. It is whole after a resume, too.

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

        Rows that are equal in the columns of ``partition_by`` get a folder of their own,
        ``team=red/day=2026-11-17``, as Spark, Hive and Polars name and read them.

        ``mode`` is for a run without a checkpoint over sources that end: run again, it would write
        all its rows a second time. So it is refused if the folder holds results already,
        ``"error"``, unless it is to add to them, ``"append"``, or to replace them when it has
        succeeded, ``"overwrite"``.

        ``options`` are called as in Spark: ``compression``, and for csv ``sep`` and ``header``,
        which is written by default.
        Text holds one column of STRING; csv holds no arrays, maps and structs, so neither
        ``window`` nor ``pane``.

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
        changes: Changes = "changelog",
        delivery: Delivery = "exactly_once",
        servers: str | Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Pipeline:
        """A pipeline that writes each row as a record to a Kafka topic, exactly once.

        ``key`` and ``value`` name a column, which is written as it is, or several, as a JSON
        object. Without them the key is that of the grouping, and the value has all columns.
        ``headers`` maps names to columns; rows that are equal in ``partition_by`` go to one
        partition, in place of those with equal keys.

        Rows that are taken back are records, too, marked by the header ``kind``. With
        ``changes="upsert"`` a record replaces the one before it with its key, as in a compacted
        topic, and one that is only taken back becomes a tombstone.

        Readers must ask for ``read_committed`` to see each row once; ``at_least_once`` writes
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
        """A pipeline that prints the rows, of each batch at most the first ``limit``.

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
        """A pipeline that hands the rows to a function: some rows, their batch and their slice.

        After a failure a batch may be handed over again, in the same slices. A function that
        keeps (batch, slice) with what it writes can then skip what it has already written.

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

    def explain(self, plan: Plan = "logical") -> None:
        """Prints the logical plan: each step under the one that it feeds.

        The physical plan is that of ``collect()``: see ``Pipeline.explain``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1").explain()
        filter 'filter-1'
        │    keeps  n > 1
        └─ rows 'rows-1' → n INT
                rows  2 in the program
        """
        if checked_plan(plan) == "logical":
            print(explain_plan(*with_distinct_names(self.node), settings=self._settings))
        else:
            self.collect().explain(plan)

    if not TYPE_CHECKING:  # a type checker is to find what is not there

        def __getattr__(self, name: str) -> Any:
            """Refuses what streams do not have, with what to write instead."""
            instead = instead_of(name)
            if instead is None:
                raise AttributeError(f"a stream has no {name!r}", name=name, obj=self)
            raise AttributeError(f"a stream has no {name!r}\n  What to do: {instead}")

    def __repr__(self) -> str:
        said = "".join(f"; {label} {text}" for label, text in self._settings)
        return f"<Stream {self.node.name!r}: {columns(self.node)}{said}>"

    def _repr_svg_(self) -> str:
        return draw_plan(*with_distinct_names(self.node))

    @property
    def _settings(self) -> list[Line]:
        return settings(self.keys, self.windowing)

    @property
    def _said(self) -> tuple[Keys, Windowing]:
        return self.keys, self.windowing

    def _then(self, node: Node) -> Stream:
        return Stream(node, building.rekeyed(self.keys, node), self.windowing)

    def _with(self, **said: Any) -> Stream:
        return replace(self, windowing=replace(self.windowing, **said))

    def _table(self, mode: OutputMode, sink: str | None) -> Table | None:
        return checked_table(self.node, mode, sink)

    def _into(self, target: Target, name: str | None) -> Pipeline:
        if self._settings:
            settings = ", ".join(map(" ".join, self._settings))
            raise PlanError(
                "MS117",
                f"{target.kind}() comes after settings without their grouping: {settings}",
                fix="add .aggregate(…) or .group() before it, or leave the settings out",
            )
        return Pipeline((building.sink(self.node, target, name),))
