"""What a hop does with the rows of a step, one task after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from millstream.engine.exchange.scatter import Scatter
from millstream.engine.rows import (
    SIGN,
    SPLIT,
    TIME,
    fitting,
    from_arrow,
    from_python,
    micros_of,
    refused,
    timed,
    to_arrow,
    to_python,
    with_time,
)
from millstream.engine.state.blobs import packed
from millstream.model.errors import RunError
from millstream.model.instants import START_OF_TIME
from millstream.model.watermarks import Punctuated, WatermarkPolicy, why_ahead
from millstream.physical.specs import GroupingSpec, InputSpec
from millstream.plan.build.functions import function_name
from millstream.plan.layouts import Layout
from millstream.plan.nodes import Function, KafkaSource, KeyFunction
from millstream.plan.records import record_text
from millstream.plan.targets import Target
from millstream.reference.functions import apply, key_of
from millstream.sinks.kinds import Writer, expect, writer_of
from millstream.spark.sources.decoding import decoded
from millstream.spark.sources.loading import CONTENT, PATH, Decoded, decoded_lines, loaded
from millstream.spark.worker.envelopes import Envelope

if TYPE_CHECKING:
    from millstream.spark.worker.python_stage import Run

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


@dataclass(frozen=True)
class Follow:
    """Times of a step that a watermark follows, if it has a ``mark``: a grouping wants to know it.

    ``ahead`` is how far ahead of the clock they may be to move it; None: as far as they like.
    """

    step: str
    mark: str | None
    column: str
    policy: WatermarkPolicy
    ahead: int | None


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
    """Reads the files that rows name, or hold; lines that it cannot decode are rejected.

    Rows that are equal in the column ``split`` are of one split.
    """

    below: int = 0
    schema: pa.Schema | None = None
    layout: Layout | None = None
    split: str | None = None
    rejected: list[Task] = field(default_factory=list)

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        run.later(self._load(rows, run))

    def _load(self, rows: pl.DataFrame, run: Run) -> Iterator[None]:
        contents = rows[CONTENT] if CONTENT in rows.columns else [None] * rows.height
        for path, content in zip(rows[PATH], contents, strict=True):
            for part in self._parts(path, content):
                run.count(self.step, "read", part.rows.height + len(part.refused))
                self._reject(path, part, run)
                self._split(with_time(part.rows), run)
                yield

    def _parts(self, path: str, content: bytes | None) -> Iterator[Decoded]:
        if self.layout is None:
            tables = loaded(self.step, path, self.below, self.schema)
            return (Decoded(from_arrow(table), []) for table in tables)
        return decoded_lines(self.step, path, content, self.layout, self.below, self.schema)

    def _reject(self, path: str, part: Decoded, run: Run) -> None:
        records = [
            record_text({"file": path.removeprefix("file:"), "line": line, "value": _shown(text)})
            for line, text, _ in part.refused
        ]
        reasons = [why for _, _, why in part.refused]
        run.reject(self.step, refused(self.step, reasons, records), self.rejected)

    def _split(self, rows: pl.DataFrame, run: Run) -> None:
        if self.split is None:
            self.give(rows, run)
            return
        for (value,), part in rows.partition_by(self.split, as_dict=True).items():
            run.split = "" if value is None else str(pl.Series([value]).cast(pl.String)[0])
            self.give(part, run)


@dataclass
class Time(Task):
    """Takes the event time from a column; rows without one are rejected."""

    column: str = ""
    follow: Follow | None = None
    rejected: list[Task] = field(default_factory=list)

    def take(self, rows: pl.DataFrame, run: Run) -> None:
        good, bad = timed(rows, self.step, self.column)
        if bad is not None:
            run.reject(self.step, bad, self.rejected)
        if self.follow is not None and good.height:
            good = self._followed(good, self.follow, run)
        self.give(good, run)

    def _followed(self, rows: pl.DataFrame, follow: Follow, run: Run) -> pl.DataFrame:
        """The rows, without those that are rejected because they are too far ahead of the clock."""
        times = rows[TIME]
        if isinstance(follow.policy, Punctuated):
            times = micros_of(rows[follow.policy.column])
        ahead = run.follow(follow, run.split, times)
        if not ahead or follow.ahead is None or follow.policy.on_ahead == "keep":
            return rows
        beyond = (times > run.latest(follow)).fill_null(False)
        records = [record_text(row.values) for row in to_python(rows.filter(beyond))]
        why = why_ahead(follow.policy, self.column, follow.ahead)
        run.reject(self.step, refused(self.step, [why] * ahead, records), self.rejected)
        return rows.filter(~beyond)


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
        what = f"a result of {function_name(self.node.function)}"
        with fitting(what, self.node.schema, self.step):
            columns = from_python(made, self.schema)
        self.give(columns, run)


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
        given = rows
        if told.kind is not None and told.kind in rows.columns:
            # A retraction must equal the row that it takes back; only late rows stay as they are.
            as_added = pl.when(pl.col(SIGN) < 0).then(pl.lit("+")).otherwise(told.kind)
            rows = rows.with_columns(as_added.alias(told.kind))
        table = rows.select(
            *(pl.col(column).alias(name) for name, column in told.columns.items()),
            *(pl.struct(told.row).alias(name) for name in told.whole if name != "row"),
            pl.col(TIME).fill_null(START_OF_TIME + 1).alias("time"),
            pl.col(SIGN).cast(pl.Int64).alias("sign"),
        )
        if told.functions:
            values = [row.values for row in to_python(rows.select(*told.row, TIME, SIGN))]
            keys = {n: self._keys(key, kind, values) for n, (key, kind) in told.functions.items()}
            table = table.with_columns(**keys)
        if "row" in told.whole:
            table = table.hstack(given.select(row=pl.struct(told.row)))
        self._send(self._scatter.take(table), run)

    def _keys(self, key: KeyFunction, kind: pa.DataType, rows: list[Any]) -> pl.Series:
        keys = [key_of(self.step, key, row) for row in rows]
        try:
            return from_arrow(pa.table({"key": pa.array(keys, kind)}))["key"]
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            name = function_name(key.function)
            raise RunError(
                "MS202",
                f"a result of the key function {name} is no {kind}: {error}",
                fix="say a type that Python has values of: key_by(…, type=…)",
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

    def expect(self, run: Run) -> None:
        """Rows are most likely to come, but are not made yet."""
        assert self.target is not None
        expect(self.step, self.target, run.slice)

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


def _shown(told: bytes | None) -> str | bytes | None:
    """Bytes as text, if they are some."""
    try:
        return None if told is None else told.decode()
    except UnicodeDecodeError:
        return told
