"""One turn of Python in a stage: users' functions, and what comes before a shuffle or a sink.

A hop is called once for each partition, with all of its record batches. In those stand the rows of
several steps side by side (see ``jvm.py``), or envelopes. Each step's rows go through its tasks;
what comes out is envelopes for the next stage, or rows for the JVM's next turn.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext, cloudpickle

from millstream.engine.blobs import packed, unpacked
from millstream.engine.scatter import Scatter
from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Bounded, Punctuated, WatermarkPolicy
from millstream.plan.functions import function_name
from millstream.plan.nodes import Function, KafkaSource
from millstream.plan.records import record_text
from millstream.plan.targets import Target
from millstream.reference.functions import apply, failure, own_copy
from millstream.spark.decoding import decoded
from millstream.spark.loading import PATH, loaded
from millstream.spark.sinks import Slice, Writer, writer_of
from millstream.spark.slices import number_of
from millstream.spark.specs import GroupingSpec, InputSpec
from millstream.spark.tables import (
    SIGN,
    SPLIT,
    TIME,
    from_arrow,
    from_python,
    late_rows,
    micros_of,
    pane_rows,
    refused,
    timed,
    to_arrow,
    to_python,
    with_time,
)
from millstream.spark.wire import ARROW, Envelope, batches_of, envelopes_in

_MOST_ROWS = 250_000


@dataclass(frozen=True)
class PortSpec:
    """Where in a record batch the rows of a step stand."""

    columns: dict[str, str]
    flag: str | None
    time: str | None
    sign: str | None

    def rows(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The rows of the step."""
        if self.flag is not None:
            if batch[self.flag].sum() < batch.height:  # it is null where envelopes are
                batch = batch.filter(self.flag)
        elif self.time is not None and batch[self.time].null_count():
            batch = batch.filter(pl.col(self.time).is_not_null())
        columns = [pl.col(column).alias(name) for name, column in self.columns.items()]
        n = batch.height  # a literal alone would be one row where no column says how many
        none, plus = pl.repeat(None, n, dtype=pl.Int64), pl.repeat(1, n, dtype=pl.Int8)
        time = none if self.time is None else pl.col(self.time)
        sign = plus if self.sign is None else pl.col(self.sign)
        return batch.select(*columns, time.alias(TIME), sign.alias(SIGN))


@dataclass
class Task:
    """Something that is done with the rows of a step; ``then`` get what it makes of them."""

    step: str
    then: list[Task] = field(default_factory=list)

    def begin(self, run: Run) -> None:
        """A partition begins."""

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        """Some rows."""
        self.give(rows, run)

    def end(self, run: Run) -> None:
        """The partition ends."""

    def give(self, rows: pl.DataFrame, run: Run) -> None:
        if rows.height:
            for task in self.then:
                task.take(rows, run)


@dataclass
class Pick(Task):
    """Columns under new names."""

    columns: dict[str, str] = field(default_factory=dict)

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        made = [pl.col(column).alias(name) for name, column in self.columns.items()]
        self.give(rows.select(*made, TIME, SIGN), run)


@dataclass
class Decode(Task):
    """Makes columns of the values of records; those of which it cannot are rejected."""

    source: KafkaSource | None = None
    schema: pa.Schema | None = None
    rejected: list[Task] = field(default_factory=list)

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        assert self.source is not None
        columns, why = decoded(rows["value"].to_list(), self.source.format, self.schema)
        made = columns.hstack(rows.select(*self.source.metadata, TIME, SIGN))
        if why:
            bad = sorted(why)
            records = [record_text(self._told(r)) for r in rows[bad].iter_rows(named=True)]
            lines = refused(self.step, [why[place] for place in bad], records)
            run.reject(self.step, lines, self.rejected)
            made = made[[place for place in range(made.height) if place not in why]]
        self.give(made, run)

    def _told(self, record: dict[str, Any]) -> dict[str, Any]:
        """Where a record is, and what it holds."""
        assert self.source is not None
        (topic, *_) = [record["topic"]] if "topic" in record else self.source.topics
        told = {name: record[name] for name in ("partition", "offset", "timestamp")}
        return {"topic": topic, **told, **{n: _shown(record[n]) for n in ("key", "value")}}


@dataclass
class Load(Task):
    """Reads the files that rows name."""

    below: int = 0
    schema: pa.Schema | None = None

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        for path in rows[PATH]:
            for table in loaded(self.step, path, self.below, self.schema):
                run.count(self.step, "read", table.num_rows)
                self.give(with_time(from_arrow(table)), run)


@dataclass
class Time(Task):
    """Takes the event time from a column; rows without one are rejected."""

    column: str = ""
    policy: WatermarkPolicy | None = None
    mark: str | None = None
    rejected: list[Task] = field(default_factory=list)

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        good, bad = timed(rows, self.step, self.column)
        if bad is not None:
            run.reject(self.step, bad, self.rejected)
        if self.mark is not None and self.policy is not None and good.height:
            follows = good[TIME]
            if isinstance(self.policy, Punctuated):
                follows = micros_of(good[self.policy.column])
            run.follow(self.mark, run.split, self.policy, follows.max())
        self.give(good, run)


@dataclass
class Call(Task):
    """A user's function."""

    node: Function | None = None
    schema: pa.Schema | None = None
    rejected: list[Task] = field(default_factory=list)

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        assert self.node is not None
        reasons: list[str] = []
        records: list[str] = []

        def reject(reason: str, record: Any) -> None:
            reasons.append(reason)
            records.append(record_text(record))

        made = apply(self.node, to_python(rows), reject)
        run.reject(self.step, refused(self.step, reasons, records), self.rejected)
        self.give(from_python(made, self.schema), run)


@dataclass
class Group(Task):
    """Before the shuffle: cuts the rows into what each shard of a grouping is to get."""

    spec: GroupingSpec | None = None
    input: InputSpec | None = None
    labels: list[int] = field(default_factory=list)

    def begin(self, run: Run) -> None:
        assert self.spec is not None
        self._scatter = Scatter(self.spec.grouping, self.spec.engine_keys, len(self.labels))

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        assert self.input is not None
        told = self.input
        if self.spec is not None and self.spec.takes_retractions and "kind" in rows.columns:
            # A retraction must equal the row that it takes back.
            rows = rows.with_columns(kind=pl.lit("+"))
        whole = pl.struct(told.row) if told.row else None
        table = rows.select(
            *(pl.col(column).alias(name) for name, column in told.columns.items()),
            *(whole.alias(name) for name in told.whole if whole is not None),
            pl.col(TIME).fill_null(START_OF_TIME + 1).alias("time"),
            pl.col(SIGN).cast(pl.Int64).alias("sign"),
        )
        if told.functions:
            values = [row.values for row in to_python(rows.select(*told.row, TIME, SIGN))]
            keys = {n: self._keys(f, kind, values) for n, (f, kind) in told.functions.items()}
            table = table.with_columns(**keys)
        self._send(self._scatter.take(table), run)

    def _keys(
        self, function: Callable[[Any], Any], kind: pa.DataType, rows: list[Any]
    ) -> pl.Series:
        def key(row: Any) -> Any:
            try:
                return function(own_copy(row))
            except Exception as error:  # whatever a user's function raises
                fix = "write a function that cannot fail, or compute the key in map(…)"
                what = f"the key function {function_name(function)}"
                raise failure(self.step, what, f"the record {row!r}", error, fix) from error

        keys = [key(row) for row in rows]
        try:
            return from_arrow(pa.table({"key": pa.array(keys, kind)}))["key"]
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            name = function_name(function)
            raise RunError(
                "MS202",
                f"a result of the key function {name} is no {kind}: {error}",
                fix=f"let {name} return what its annotation says",
                step=self.step,
            ) from error

    def end(self, run: Run) -> None:
        self._send(self._scatter.rest(), run)

    def _send(self, arrivals: Iterator[Any], run: Run) -> None:
        for shard, arrival in arrivals:
            start, end = arrival.window or (None, None)
            run.send(
                Envelope(
                    self.labels[shard],
                    self.step,
                    "arrival",
                    start,
                    end,
                    arrival.rows,
                    run.next_origin(),
                    arrival.lane,
                    arrival.blob,
                )
            )


@dataclass
class ToSink(Task):
    """Rows for a sink that is written in the last stage."""

    schema: pa.Schema | None = None

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        for part in rows.iter_slices(_MOST_ROWS):
            table = from_arrow(to_arrow(part, self.schema))
            origin = run.next_origin()
            run.send(
                Envelope(
                    run.home(),
                    self.step,
                    "sink",
                    elements=part.height,
                    split=origin,
                    payload=packed(table),
                )
            )


@dataclass
class Write(Task):
    """The last stage: writes the rows of a sink."""

    target: Target | None = None
    schema: pa.Schema | None = None

    def begin(self, run: Run) -> None:
        self._writer: Writer | None = None
        self._rows = 0

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        assert self.target is not None
        if self._writer is None:
            self._writer = writer_of(self.step, self.target, run.slice)
        self._writer.write(to_arrow(rows, self.schema))
        self._rows += rows.height

    def end(self, run: Run) -> None:
        if self._writer is not None:
            receipt = self._writer.close()
            run.send(Envelope(0, self.step, "receipt", elements=self._rows, payload=receipt))

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()


@dataclass
class Emit(Task):
    """Rows for the JVM's next turn."""

    port: PortSpec | None = None

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        port = self.port
        assert port is not None
        names = {column: pl.col(name) for name, column in port.columns.items()}
        hidden = {port.time: pl.col(TIME), port.sign: pl.col(SIGN), port.flag: pl.lit(True)}
        names |= {name: value for name, value in hidden.items() if name is not None}
        fields = run.hop.schema
        names |= {SPLIT: pl.lit(run.split)} if SPLIT in fields.names else {}
        table = rows.select(each.alias(name) for name, each in names.items())
        run.flush()
        for part in table.iter_slices(_MOST_ROWS):
            arrow = to_arrow(part, pa.schema([f for f in fields if f.name in names]))
            columns = [
                arrow.column(f.name).combine_chunks()
                if f.name in names
                else pa.nulls(part.height, f.type)
                for f in fields
            ]
            run.out.append(pa.Table.from_arrays(columns, schema=fields))


@dataclass(frozen=True)
class Follow:
    """A watermark that the JVM has found the times for."""

    mark: str
    column: str
    policy: WatermarkPolicy


@dataclass(frozen=True)
class Refused:
    """A column of rows that the JVM has rejected: the reason, and in a new line the record."""

    step: str
    column: str
    tasks: list[Task]


@lru_cache(maxsize=64)
def _unpacked(hop: bytes) -> Hop:
    """A worker makes a hop ready once, not for each batch."""
    made: Hop = pickle.loads(hop)
    return made


class Packed:
    """A hop on its way to the workers."""

    def __init__(self, hop: Hop) -> None:
        self._hop: bytes = cloudpickle.dumps(hop)  # type: ignore[no-untyped-call]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _unpacked(self._hop)(batches)


@dataclass
class Hop:
    """All that Python does in one turn of a stage."""

    ports: list[tuple[PortSpec, list[Task]]]
    envelopes: dict[tuple[str, str], list[Task]]
    """Tasks for panes and late rows of groupings, and, in the last stage, for rows of sinks."""
    groupings: dict[str, tuple[list[str], list[str], pa.Schema]]
    tasks: list[Task]
    """All tasks, each before those that it gives rows to."""
    follows: list[Follow]
    refused: list[Refused]
    untimed: dict[str, str]
    """Columns of times, by step: what is null in one was rejected, and nobody wants to see it."""
    labels: list[int]
    schema: pa.Schema
    split: str | None = None
    ends: list[str] = field(default_factory=list)
    """Watermarks that have reached the end of time when the partition ends."""
    source: str | None = None
    """The source whose rows are counted here, as they come."""
    origin: str = ""
    """The source that all rows are from, if that is one."""
    slices: Literal["tasks", "splits", "origins"] = "tasks"
    """What is a slice of its own: what a task has, or each split, or each origin of envelopes."""
    by_split: bool = False
    run: str = ""
    batch: int | None = None
    """The number of the batch, if the driver tells it; else Spark does, in the task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = context.partitionId() if context else 0
        run = Run(self, number)
        with run.careful():
            for batch in batches:
                for place, part in self._places(batch):
                    if place is not None and run.place not in (None, place):
                        run.end()
                        yield from run.made()
                        run = Run(self, number)
                    run.is_of(place)
                    run.take(part)
                    yield from run.made()
            run.end()
            yield from run.made()

    def _places(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        """The rows by what they are slices of, of which one task may have several, one by one."""
        if self.slices == "tasks" or not batch.num_rows:
            yield None, batch
            return
        if self.slices == "splits":
            names = batch.column(str(self.split))
        else:
            begun = pc.replace_substring_regex(batch.column("split"), "/[^/]*$", "")
            names = pc.if_else(pc.equal(batch.column("kind"), "sink"), begun, None)
        places = pc.run_end_encode(names)
        begin = 0
        for place, end in zip(places.values.to_pylist(), places.run_ends.to_pylist(), strict=True):
            yield None if place is None else str(place), batch.slice(begin, end - begin)
            begin = end

    def after(self, made: Iterable[Envelope], number: int) -> Iterator[Envelope]:
        """What becomes of envelopes that a stage has made, in the shard of that number."""
        run = Run(self, number)
        with run.careful():
            for envelope in made:
                run.open(envelope)
                yield from run.sent()
            run.end()
            yield from run.sent()


class Run:
    """A hop over one partition, or over what a shard has made; ``number`` says which."""

    def __init__(self, hop: Hop, number: int) -> None:
        self.hop = hop
        self.split = ""
        self.place: str | None = None
        self.out: list[pa.Table | pa.RecordBatch] = []
        self._envelopes: list[Envelope] = []
        self._marks: dict[tuple[str, str], int] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._sent = 0
        self._number = number
        self._name = ""
        for task in hop.tasks:
            task.begin(self)

    @cached_property
    def slice(self) -> Slice:
        """The part of a batch that this is."""
        context = TaskContext.get()
        batch = self.hop.batch
        if batch is None:
            # This is how Spark tells a task of a streaming query its batch.
            told = context.getLocalProperty("streaming.sql.batchId") if context else None
            batch = int(told or 0)
        attempt = context.taskAttemptId() if context else 0
        return Slice(self.hop.run, batch, self._number, attempt, self._name)

    @contextmanager
    def careful(self) -> Iterator[None]:
        """Leaves nothing half written behind."""
        try:
            yield
        except BaseException:
            for task in self.hop.tasks:
                if isinstance(task, Write):
                    task.abort()
            raise

    def is_of(self, place: str | None) -> None:
        """Has a number that goes by a place, such as a partition of Kafka, if that is known.

        Spark may read partitions in another order when a batch is done again; and what is in a
        slice must stay in it, or what was written before would be left out, and other rows doubled.
        """
        if place is not None and self.place is None:
            self.place = place
            plain = place.isdecimal()
            self._number = int(place) if plain else number_of(place)
            self._name = "" if plain else place

    def take(self, batch: pa.RecordBatch) -> None:
        """A record batch: rows of steps, or envelopes, or some of both."""
        if "kind" in batch.schema.names and "payload" in batch.schema.names:
            for envelope in envelopes_in(batch):
                self.open(envelope)
        if self.hop.source is not None:
            self.count(self.hop.source, "read", batch.num_rows)
        if not self.hop.ports and not self.hop.follows and not self.hop.refused:
            return  # there are but envelopes
        rows = from_arrow(batch)
        self._follow(rows)
        for step, column in self.hop.untimed.items():
            self.count(step, "rejected", rows[column].null_count())
        for refusal in self.hop.refused:
            told = [text.rsplit("\n", 1) for text in rows[refusal.column].drop_nulls()]
            bad = refused(refusal.step, [why for why, _ in told], [what for _, what in told])
            self.reject(refusal.step, bad, refusal.tasks)
        for part in self._parts(rows):
            for port, tasks in self.hop.ports:
                mine = port.rows(part)
                if mine.height:
                    for task in tasks:
                        task.take(mine, self)

    def end(self) -> None:
        """The partition is over."""
        for task in self.hop.tasks:
            task.end(self)
        for mark in self.hop.ends:
            for split in ["", *(split for known, split in self._marks if known == mark)]:
                self._marks[mark, split] = END_OF_TIME
        for (mark, split), watermark in self._marks.items():
            for label in self.hop.labels:
                self.send(Envelope(label, mark, "mark", split=split, value=watermark))
        for (step, what), number in self._counts.items():
            self.send(Envelope(self.home(), step, "count", split=what, value=number))

    def made(self) -> Iterator[pa.RecordBatch]:
        """What has come out so far."""
        self.flush()
        out, self.out = self.out, []
        for table in out:
            yield from table.to_batches() if isinstance(table, pa.Table) else [table]

    def send(self, envelope: Envelope) -> None:
        self._envelopes.append(envelope)

    def sent(self) -> list[Envelope]:
        """The envelopes that have come out so far."""
        sent, self._envelopes = self._envelopes, []
        return sent

    def flush(self) -> None:
        """Puts the envelopes in their place in the output."""
        for batch in batches_of(self.sent()):
            told = {name: batch.column(name) for name in ARROW.names}
            if self.place is not None:
                told[SPLIT] = pa.repeat(self.place, batch.num_rows)
            columns = [
                told[f.name] if f.name in told else pa.nulls(batch.num_rows, f.type)
                for f in self.hop.schema
            ]
            self.out.append(pa.RecordBatch.from_arrays(columns, schema=self.hop.schema))

    def count(self, step: str, what: str, number: int) -> None:
        if number:
            self._counts[step, what] = self._counts.get((step, what), 0) + number

    def reject(self, step: str, rows: pl.DataFrame, tasks: list[Task]) -> None:
        self.count(step, "rejected", rows.height)
        if rows.height:
            for task in tasks:
                task.take(rows, self)

    def follow(self, mark: str, split: str, policy: WatermarkPolicy, newest: Any) -> None:
        """The newest time that a split has shown, or the watermark that it has told."""
        if newest is not None:
            watermark = newest - (policy.disorder if isinstance(policy, Bounded) else 0)
            known = self._marks.get((mark, split), START_OF_TIME)
            self._marks[mark, split] = max(known, watermark)

    def home(self) -> int:
        """The shard that takes along what is for no shard in particular."""
        labels = self.hop.labels
        return labels[self._number % len(labels)] if labels else 0

    def next_origin(self) -> str:
        """A name that sorts what comes from everywhere into an order that is always the same."""
        self._sent += 1
        return f"{self.hop.origin}/{self._number:06}/{self._sent:06}"

    def open(self, envelope: Envelope) -> None:
        """Gives what an envelope holds to those that it is for; others are handed on."""
        tasks = self.hop.envelopes.get((envelope.kind, envelope.node))
        if tasks is None:
            self.send(envelope.sealed())
            return
        table = envelope.rows
        if table is None:
            assert envelope.payload is not None
            table = unpacked(envelope.payload)
        if envelope.kind == "pane":
            keys, aggregates, schema = self.hop.groupings[envelope.node]
            table = _typed(pane_rows(table, keys, aggregates), schema)
        elif envelope.kind == "late":
            table = late_rows(table)
        else:
            table = with_time(table)
        for task in tasks:
            task.take(table, self)

    def _follow(self, rows: pl.DataFrame) -> None:
        for follow in self.hop.follows:
            if self.hop.split is None:
                self.follow(follow.mark, "", follow.policy, rows[follow.column].max())
                continue
            newest = rows.group_by(self.hop.split).agg(pl.col(follow.column).max())
            for split, time in newest.iter_rows():
                self.follow(follow.mark, _name(split), follow.policy, time)

    def _parts(self, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The rows, split by split if a task is to follow their times."""
        if self.hop.split is None or not self.hop.by_split:
            yield rows
            return
        for (split,), part in rows.partition_by(self.hop.split, as_dict=True).items():
            self.split = _name(split)
            yield part


def _shown(told: bytes | None) -> str | bytes | None:
    """Bytes as text, if they are some."""
    try:
        return None if told is None else told.decode()
    except UnicodeDecodeError:
        return told


def _name(split: Any) -> str:
    return "" if split is None else str(split)


def _typed(rows: pl.DataFrame, schema: pa.Schema) -> pl.DataFrame:
    """The columns of the step, in the types that Spark was told: a batch may suggest others."""
    types = from_arrow(schema.empty_table()).schema
    return rows.select(*(pl.col(n).cast(t) for n, t in types.items()), TIME, SIGN)
