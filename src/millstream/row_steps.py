"""Steps of the fluent API that treat each row by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from millstream.branches import Branches
from millstream.model.time_units import TimeUnit
from millstream.model.watermarks import WatermarkPolicy
from millstream.plan.build import steps as building
from millstream.plan.build.branch import branch
from millstream.plan.nodes import Node, OnError
from millstream.writable import Writable


class RowSteps(Writable):
    """Rows that steps without state can follow. Settings for the next operator stay."""

    def filter(self, condition: Any, on_error: OnError = "fail") -> Self:
        """The rows for which the condition, Spark SQL text, is true.

        A row on which it fails, such as one with text where a number is expected, stops the
        pipeline, unless ``on_error`` is ``"reject"`` (it goes to ``.rejected``) or ``"drop"``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1")
        <Stream 'filter-1': n INT>
        """
        return self._then(building.filter(self.node, condition, on_error))

    def branch(self, *, on_error: OnError = "fail", **conditions: Any) -> Branches[Self]:
        """Several streams, by name: each row is in the first whose condition is true.

        ``rest=True``, under any name and last, takes the rows of which no condition is true.
        Without it, these are dropped. A condition that is null is not true; conditions after one
        that is true are not computed. ``on_error`` is as in ``filter``.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (5,), (None,)], schema="n int")
        >>> parts = numbers.branch(big="n > 3", small="n <= 3", rest=True)
        >>> parts.big
        <Stream 'select-1': n INT>
        >>> ms.pipeline(parts.big.collect("big"), parts.rest.collect("rest")).run().rows("rest")
        [{'n': None}]
        """
        outputs = branch(self.node, conditions, on_error)
        return Branches({name: self._then(node) for name, node in outputs.items()})

    def select(self, *expressions: Any, on_error: OnError = "fail", **named: Any) -> Self:
        """Rows with these columns and expressions; ``on_error`` is as in ``filter``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").select("n", "n * n AS square", half="n / 2")
        <Stream 'select-1': n INT, square INT, half DOUBLE>
        """
        return self._then(building.select(self.node, expressions, named, on_error))

    def sql(self, query: str, on_error: OnError = "fail") -> Self:
        """The rows that a query makes of this stream, which it calls ``stream``.

        It has SELECT, FROM and WHERE, in Spark SQL. What needs more than one row at a time is an
        error that names the method to use instead. ``on_error`` is as in ``filter``.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.sql("SELECT *, n * n AS square FROM stream WHERE n > 1").collect().run().rows()
        [{'n': 2, 'square': 4}]
        """
        return self._then(building.sql(self.node, query, on_error))

    def with_columns(self, on_error: OnError = "fail", **named: Any) -> Self:
        """The rows with more columns, or with columns replaced; ``on_error`` is as in ``filter``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").with_columns(square="n * n")
        <Stream 'with_columns-1': n INT, square INT>
        """
        return self._then(building.with_columns(self.node, named, on_error))

    def drop(self, *columns: str) -> Self:
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
    ) -> Self:
        """One row for each row, computed by a function of a dict of columns.

        The result's columns come from ``schema`` or the function's return annotation, a
        dataclass, TypedDict or NamedTuple; for a single column, the function may return its value
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
    ) -> Self:
        """Any number of rows for each row, computed by a function that returns an iterable.

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
    ) -> Self:
        """Any number of rows for some rows at a time, which share an event time.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.map_batches(lambda rows: [{"rows": len(rows)}], schema="rows int")
        <Stream 'map_batches-1': rows INT>
        """
        return self._then(building.function(self.node, "map_batches", function, schema, on_error))

    def with_event_time(
        self,
        column: str,
        watermark: WatermarkPolicy | None = None,
        unit: TimeUnit | None = None,
    ) -> Self:
        """The rows with the event time in a column.

        The column has timestamps, dates, or numbers of seconds since 1970-01-01 UTC; ``unit`` says
        what else numbers count: ``ms``, ``us`` or ``ns``.

        >>> import millstream as ms
        >>> ms.from_rows([(10.0,)], schema="at double").with_event_time("at", ms.bounded("30s"))
        <Stream 'event_time-1': at DOUBLE>
        >>> millis = ms.from_rows([(1_763_400_000_000,)], schema="at bigint")
        >>> hours = millis.with_event_time("at", unit="ms").window(ms.fixed("1h"))
        >>> [str(row["window"]["start"]) for row in hours.group().collect().run().rows()]
        ['2025-11-17 17:00:00+00:00']
        """
        return self._then(building.event_time(self.node, column, watermark, unit))

    def _then(self, node: Node) -> Self:
        return type(self)(node, self.settings.over(node))
