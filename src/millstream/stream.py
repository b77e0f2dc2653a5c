"""The fluent API of users' programs. Each method adds a step or a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from millstream.joins import Joins
from millstream.model.aggregates import Collect
from millstream.model.durations import Duration
from millstream.model.errors import PlanError, in_step
from millstream.model.processors import Processor, RowOrder
from millstream.model.refinements import Refinement
from millstream.model.triggers import Trigger
from millstream.model.windows import Window
from millstream.pipeline import Plan, checked_plan
from millstream.plan.build import steps as building
from millstream.plan.build.grouping import grouping, late
from millstream.plan.checks.event_time import check_has_event_time
from millstream.plan.explain.details import columns, setting_lines
from millstream.plan.explain.drawing import draw_plan
from millstream.plan.explain.text import explain_plan
from millstream.plan.names import checked_name, with_distinct_names
from millstream.plan.nodes import OnError
from millstream.plan.operators.changes import changes
from millstream.plan.operators.process import output, process
from millstream.plan.other_words import instead_of
from millstream.plan.settings import Settings
from millstream.plan.types.schema import Schema
from millstream.processors.deduplicate import Deduplicate
from millstream.processors.latest import Latest
from millstream.processors.sample import Sample
from millstream.processors.top import Top
from millstream.processors.update_state import UpdateState


@dataclass(frozen=True, eq=False, repr=False)
class Stream(Joins):
    """The rows at one place of a program. A stream is a value: each method returns a new one.

    ``key_by``, ``window``, ``trigger`` and ``refine`` are settings for the next ``aggregate`` or
    ``group``; its result starts without any.

    >>> import millstream as ms
    >>> scores = ms.from_rows(
    ...     [("ann", "red", 3, 10.0), ("bob", "red", 4, 70.0)],
    ...     schema="user string, team string, points int, at double", event_time="at")
    >>> scores.key_by("team").window(ms.fixed("1m")).aggregate(total=ms.sum("points"))
    <Stream 'aggregate-1': team STRING, total BIGINT, window, pane>
    """

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return self.node.schema

    def key_by(self, *keys: Any, **named: Any) -> Stream:
        """Groups rows by these columns or expressions, or by one function of the row.

        A function's result is the column ``key``, whose type is the function's annotation, or
        ``type=`` in Spark DDL: ``key_by(lambda row: row["word"][0], type="string")``.

        >>> import millstream as ms
        >>> words = ms.from_rows([("to",), ("be",)], schema="word string")
        >>> words.key_by(first="substring(word, 1, 1)")
        <Stream 'rows-1': word STRING; key first = SUBSTRING(word, 1, 1)>
        """
        return self._set(self.settings.key_by(self.node, keys, named))

    def window(
        self,
        kind: Window,
        allowed_lateness: Duration = 0,
        on_time: Literal["always", "if_changed"] = "always",
        closing: Literal["if_changed", "always"] = "if_changed",
        timestamp: Literal["end", "earliest", "latest"] = "end",
    ) -> Stream:
        """Where in event time results are computed.

        ``allowed_lateness`` is how long a window accepts data after the watermark has passed its
        end. With ``on_time="always"`` the pane at the window's end is emitted even if nothing
        changed; ``closing`` is the same for a last pane when the window expires. ``timestamp`` is
        the event time of results: the window's end, or that of their earliest or latest element.

        >>> import millstream as ms
        >>> clicks = ms.from_rows([("ann", 1.0)], schema="user string, at double", event_time="at")
        >>> clicks.window(ms.session("30m"), allowed_lateness="1h")
        <Stream 'event_time-1': user STRING, at DOUBLE; window session('30m'), allowed lateness 1h>
        """
        options = allowed_lateness, on_time, closing, timestamp
        return self._set(self.settings.window(kind, *options))

    def trigger(self, trigger: Trigger, allow_data_loss: bool = False) -> Stream:
        """When in processing time results are emitted.

        A trigger that may finish while data can still arrive is an error, unless
        ``allow_data_loss`` is true.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.trigger(ms.repeatedly(ms.after_count(100)))
        <Stream 'rows-1': n INT; trigger repeatedly(after_count(100))>
        """
        return self._set(self.settings.trigger(trigger, allow_data_loss))

    def refine(self, refinement: Refinement) -> Stream:
        """How the panes of a window relate: discarding, accumulating or retracting.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").refine(ms.retracting)
        <Stream 'rows-1': n INT; refine retracting>
        """
        return self._set(self.settings.refine(refinement))

    def aggregate(self, **aggregates: Any) -> Stream:
        """What is computed for each key and window: names and aggregates.

        The result has the keys, the aggregates, ``window``, ``pane`` and, if it is retracting,
        ``kind`` (``"+"``, or ``"-"`` for a row that retracts an earlier one).

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
        >>> numbers.key_by(odd="n % 2 = 1").aggregate(total=ms.sum("n")).schema.names
        ('odd', 'total', 'window', 'pane')
        """
        return Stream(grouping(self.node, self.settings, aggregates))

    def group(self) -> Stream:
        """All rows of each key and window as a list, ``values``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").group().schema.find("values")
        Field(name='values', type='ARRAY<STRUCT<n: INT>>')
        """
        return self.aggregate(values=Collect())

    def changes(self, *columns: str) -> Stream:
        """The rows that differ from the row of their key before them, in one of the columns.

        Without columns all are compared. The first row of a key is always one of them. Rows that
        arrive together are compared in the order of their event times, others as they arrive.

        >>> import millstream as ms
        >>> doors = ms.from_rows(
        ...     [("front", "open", 1), ("front", "open", 2), ("front", "closed", 3)],
        ...     schema="door string, state string, at int", event_time="at")
        >>> doors.key_by("door").changes("state").select("at").collect().run().rows()
        [{'at': 1}, {'at': 3}]
        """
        return Stream(changes(self.node, self.settings, columns))

    def process(
        self,
        processor: Processor | type[Processor],
        schema: Any,
        outputs: Mapping[str, Any] | None = None,
        order: RowOrder = "arrival",
        allowed_lateness: Duration | None = None,
        on_error: OnError = "fail",
    ) -> Stream:
        """What a processor emits: a program with state and timers for each key.

        ``schema`` has the columns of the rows that it emits, ``outputs`` those of its side
        outputs by name: see ``output``. With ``order="event_time"`` rows come in the order of their
        event times, as far as the watermark has come; otherwise as they arrive. Rows that are
        behind the watermark by more than ``allowed_lateness`` are late. After ``window`` each
        window has its own state, and rows are late for a window that has expired. A row on which
        the processor raises stops the pipeline, unless ``on_error`` is ``"reject"`` (it goes to
        ``.rejected``) or ``"drop"``; state and timers are then as they were before the row.

        >>> import millstream as ms
        >>> class Numbered(ms.Processor):
        ...     class state:
        ...         rows: int = 0
        ...     def on_row(self, row, state, timers, out):
        ...         state.rows += 1
        ...         out.emit(word=row["word"], number=state.rows)
        >>> words = ms.from_rows([("to",), ("be",), ("to",)], schema="word string")
        >>> words.key_by("word").process(Numbered, schema="word string, number bigint")
        <Stream 'process-1': word STRING, number BIGINT>
        """
        given = processor, schema, outputs, order, allowed_lateness, on_error
        return Stream(process(self.node, self.settings, *given))

    def output(self, name: str) -> Stream:
        """What the processor of this stream emits to the side output of that name.

        >>> import millstream as ms
        >>> class Big(ms.Processor):
        ...     def on_row(self, row, state, timers, out):
        ...         if row["n"] > 9:
        ...             out.to("big").emit(row)
        >>> numbers = ms.from_rows([(1,), (10,)], schema="n int").process(
        ...     Big, schema="n int", outputs={"big": "n int"})
        >>> numbers.output("big").collect().run().rows()
        [{'n': 10}]
        """
        return Stream(output(self.node, name))

    def update_state(
        self,
        function: Callable[[Any, Any], Any],
        initial: Any,
        type: Any = None,
        timeout: Duration | None = None,
    ) -> Stream:
        """A running value of each key: ``function(row, state)`` returns the new state.

        Each row emits the key and the column ``state``. ``type`` is needed where ``initial`` does
        not say it: for lists and dicts, ``type=list[int]``. The state of a key that has had no rows
        for ``timeout``, by the clock, begins anew.

        >>> import millstream as ms
        >>> words = ms.from_rows([("a",), ("b",), ("a",)], schema="word string").key_by("word")
        >>> counts = words.update_state(lambda row, count: count + 1, initial=0)
        >>> counts.filter("word = 'a'").collect().run().rows()
        [{'word': 'a', 'state': 1}, {'word': 'a', 'state': 2}]
        """
        made = UpdateState(function, initial, type, timeout)
        return self.process(made, schema=made.schema(self.settings.keys))

    def deduplicate(self, *keys: Any, within: Duration) -> Stream:
        """The rows without duplicates: a row is one if its key has passed ``within`` this time.

        That is in event time, before or after. Without keys, rows are duplicates if all of their
        columns are equal. Rows behind the watermark are in ``.late``: whether they are duplicates
        may not be known any more.

        >>> import millstream as ms
        >>> orders = ms.from_rows(
        ...     [("x", 0), ("x", 5), ("y", 5), ("x", 60)], schema="id string, at int",
        ...     event_time="at")
        >>> orders.deduplicate("id", within="1m").filter("id = 'x'").collect().run().rows()
        [{'id': 'x', 'at': 0}, {'id': 'x', 'at': 60}]
        """
        keyed = (
            self if self.settings.keys and not keys else self.key_by(*(keys or self.schema.names))
        )
        return keyed.process(Deduplicate(within), schema=self.schema, allowed_lateness=0)

    def latest(self) -> Stream:
        """The rows that are the newest of their key, in event time, when they arrive.

        A row that is older than one that has come is dropped; of two of the same time, the later
        arrival is the newer one. Each row replaces the one of its key before it.

        >>> import millstream as ms
        >>> prices = ms.from_rows(
        ...     [("x", 9, 1), ("x", 8, 3), ("x", 7, 2)], schema="item string, price int, at int",
        ...     event_time="at")
        >>> prices.key_by("item").latest().select("price").collect().run().rows()
        [{'price': 9}, {'price': 8}]
        """
        check_has_event_time(self.node, "latest() is")
        return self.process(Latest, schema=self.schema)

    def sample(self, every: int) -> Stream:
        """One row of so many: the first row of each key, and then each ``every``-th.

        Which rows these are depends on their order alone: a retried batch gives the same.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(n,) for n in range(7)], schema="n int")
        >>> numbers.sample(every=3).collect().run().rows()
        [{'n': 0}, {'n': 3}, {'n': 6}]
        """
        return self.process(Sample(every), schema=self.schema)

    def top(self, n: int, by: str) -> Stream:
        """The changes of the ``n`` rows of each key with the greatest ``by``, over all time.

        A row that gets into this list is emitted with the column ``kind`` ``"+"``, and the row that
        it replaces, before it, with ``"-"``. Both have the event time of the new row. Of rows with
        the same ``by``, the first stays; one in which it is null is never in the list.

        >>> import millstream as ms
        >>> scores = ms.from_rows(
        ...     [("red", 3), ("red", 9), ("red", 5), ("red", 4)], schema="team string, points int")
        >>> best = scores.key_by("team").top(2, by="points")
        >>> [row["kind"] + str(row["points"]) for row in best.collect().run().rows()]
        ['+3', '+9', '-3', '+5']
        """
        return self.process(Top(n, by, self.schema), schema=self.schema)

    def union(self, *others: Stream) -> Stream:
        """The rows of this stream and of others with the same columns: see ``ms.union``."""
        return union(self, *others)

    @property
    def late(self) -> Stream:
        """The late rows of this grouping: its input rows, with ``window`` and ``reason``.

        The rows must not already have columns of these names. Those of a join have its columns,
        null for the other side, with ``side`` (``"left"`` or ``"right"``) and ``reason``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").group().late.schema.names
        ('n', 'window', 'reason')
        """
        return Stream(late(self.node))

    @property
    def rejected(self) -> Stream:
        """The records that all steps up to this stream rejected: ``step``, ``reason``, ``record``.

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
        if self.settings:
            raise PlanError(
                "MS117",
                f"named({name!r}) comes between settings and the grouping that they are for",
                fix=f"name the grouping itself: .aggregate(…).named({name!r}), or the step before "
                f"the settings: .named({name!r}).key_by(…)",
            )
        return Stream(building.named(self.node, checked_name(name)))

    def explain(self, plan: Plan = "logical") -> None:
        """Prints the logical plan: each step under the step that gets its rows.

        The physical plan is that of ``collect()``: see ``Pipeline.explain``.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1").explain()
        filter 'filter-1'
        │    keeps  n > 1
        └─ rows 'rows-1' → n INT
                rows  2 in the program
        """
        if checked_plan(plan) == "logical":
            print(explain_plan(*with_distinct_names(self.node), settings=self.settings))
        else:
            self.collect().explain(plan)

    if not TYPE_CHECKING:  # so that a type checker finds missing names

        def __getattr__(self, name: str) -> Any:
            """Raises an error for unknown names, with what to write instead."""
            instead = instead_of(name)
            if instead is None:
                raise AttributeError(f"a stream has no {name!r}", name=name, obj=self)
            raise AttributeError(f"a stream has no {name!r}\n  What to do: {instead}")

    def __repr__(self) -> str:
        settings = "".join(f"; {label} {text}" for label, text in setting_lines(self.settings))
        return f"<Stream {self.node.name!r}: {columns(self.node)}{settings}>"

    def _repr_svg_(self) -> str:
        return draw_plan(*with_distinct_names(self.node))

    def _set(self, settings: Settings) -> Stream:
        return Stream(self.node, settings)


def union(*streams: Stream) -> Stream:
    """The rows of several streams that have the same columns.

    Each stream keeps its watermark policy. The watermark of the union is the least of those of its
    streams that are not idle, so none of their rows is late because another stream is ahead.

    >>> import millstream as ms
    >>> one, two = ms.from_rows([(1,)], schema="n int"), ms.from_rows([(2,)], schema="n int")
    >>> ms.union(one, two)
    <Stream 'union-1': n INT>
    """
    for each in streams:
        if not isinstance(each, Stream):
            raise PlanError(
                "MS113",
                f"union() takes streams, not {each!r}",
                fix="give streams made by ms.from_rows(…) and the like",
            )
    if not streams:
        raise PlanError("MS113", "union() has no streams", fix="give it some: ms.union(one, two)")
    node = building.union(*(each.node for each in streams))
    first, *others = (each.settings for each in streams)
    with in_step(node.name):
        return Stream(node, first.united(*others))
