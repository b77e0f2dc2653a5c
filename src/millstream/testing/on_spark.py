"""Replays programs on Spark Structured Streaming: planned and lowered as in a job.

Programs that are replayed together share one query, in which a micro-batch runs a step of each.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.engine.operator import INDEX, LATE, ROWS
from millstream.engine.python_rows import python_rows
from millstream.engine.rows import to_arrow
from millstream.engine.state.blobs import unpacked
from millstream.model.errors import RunError
from millstream.model.instants import LAST, seconds
from millstream.model.panes import LateElement, Pane
from millstream.model.script import ProcessingTime, Step
from millstream.physical.plan import Physical, physical
from millstream.physical.reading import may_reject
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Node, walk
from millstream.plan.operators.grouping import Grouping
from millstream.reference.ordering import ordering
from millstream.sinks.memory import Rows
from millstream.spark.compat.remote import is_remote
from millstream.spark.driver.failures import explained
from millstream.spark.driver.session import local_session
from millstream.spark.driver.shard_labels import labels_of
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.program import Lowered, lower
from millstream.spark.lower.shuffles import with_state
from millstream.spark.types import arrow_of
from millstream.spark.worker.batch_clock import Moment, announce_moment
from millstream.spark.worker.envelopes import Envelope
from millstream.stream import Stream
from millstream.testing.panes import Panes
from millstream.testing.pipelines import simple_key, simple_values
from millstream.testing.spark_input import SourceSteps, SparkInput

SHARDS = 2
_RUN = "replay"


@dataclass(frozen=True)
class Program:
    """A grouping whose steps have distinct names, and what happens to its sources."""

    node: Grouping
    steps: Sequence[Step]


def replay_programs(programs: Sequence[Program], follows: bool = False) -> list[Panes]:
    """What each program gives; all must have equally many groupings one after another.

    Where they ``follow`` their watermark policies, these are held against the first one's clock.
    """
    outputs = [_Outputs(program, number) for number, program in enumerate(programs)]
    sinks = with_distinct_names(*(sink for each in outputs for sink in each.sinks))
    plan = replace(physical(sinks), follows=follows, reads_all=True)
    for each in outputs:
        each.find(plan)
    folder = Path(tempfile.mkdtemp(prefix="millstream-replay-"))
    try:
        with explained(plan):
            return _run(plan, outputs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(plan: Physical, outputs: list[_Outputs], folder: Path) -> list[Panes]:
    session = replay_session()
    lowering = Lowering(plan=plan, labels=labels_of(SHARDS, SHARDS), run=_RUN, ending=False)
    steps = [each.source_steps() for each in outputs]
    input = SparkInput(folder / "steps", plan)
    input.write(steps, lowering.labels)
    lowered = lower(lowering, input.reader(session), with_state(False, _RUN, ()), apart=True)
    clocks = list(_clocks(outputs[0].steps))
    panes = [Panes() for _ in outputs]

    def batch(frame: DataFrame, number: int) -> None:
        clock = clocks[min(number, len(clocks) - 1)]
        announce_moment(frame.sparkSession, _RUN, Moment(number, clock))
        made = _Made(lowering, lowered, frame.collect(), number)
        for each, mine in zip(outputs, panes, strict=True):
            each.take(made, mine)

    writer = lowered.frame.writeStream.outputMode("append").foreachBatch(batch)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return panes


def _clocks(steps: Sequence[Step]) -> Iterator[int]:
    """What event times are held against, step by step; before a step moves it, no time is ahead."""
    clock = None
    for step in steps:
        if isinstance(step, ProcessingTime):
            clock = max(clock or 0, step.us)
        yield LAST if clock is None else clock


class _Made:
    """What a batch has made: what each operator has emitted, and the rows of each sink.

    The last Python stage of the program makes rows of sinks of panes, and keeps their order.
    """

    def __init__(self, lowering: Lowering, lowered: Lowered, rows: list[Row], number: int) -> None:
        assert lowered.last is not None
        self.lowering = lowering
        self.step = number
        self._emitted: dict[tuple[str, str | None], list[pl.DataFrame]] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}
        envelopes = [Envelope(*row) for row in rows]
        for envelope in envelopes:
            if envelope.payload is not None:
                envelope.payload = bytes(envelope.payload)
            if envelope.kind == "emit" and envelope.payload is not None:
                tables = self._emitted.setdefault((envelope.node, envelope.port), [])
                tables.append(unpacked(envelope.payload))
        for receipt in replace(lowered.last, batch=number).after(envelopes, 0):
            if receipt.kind == "receipt" and receipt.payload:
                self._rows[receipt.node] = python_rows(Rows.unpacked(receipt.payload).table)

    def emitted(self, operator: Node, tag: str) -> list[pl.DataFrame]:
        return self._emitted.get((operator.name, tag), [])

    def rows(self, sink: Node) -> list[dict[str, Any]]:
        return self._rows.get(sink.name, [])


class _Outputs:
    """What a program gives in the query: its panes, what was late, and what was rejected."""

    def __init__(self, program: Program, number: int) -> None:
        self.steps = program.steps
        self._own = program.node
        stream = Stream(program.node)
        made = [stream.collect(f"panes {number}")]
        if any(may_reject(node) for node in walk(program.node)):
            made.append(stream.rejected.collect(f"rejected {number}"))
        self.sinks = [sink for each in made for sink in each.outputs]

    def find(self, plan: Physical) -> None:
        """Takes note of the program's steps in the query, where they may have other names."""
        names = [sink.name for sink in self.sinks]
        self._panes, *self._rejected = [sink for sink in plan.sinks if sink.name in names]
        assert isinstance(self._panes.input, Grouping)
        self._node = self._panes.input
        pairs = zip(walk(self._own), walk(self._node), strict=True)
        self._names = {own.name: other.name for own, other in pairs}

    def source_steps(self) -> SourceSteps:
        return SourceSteps(self.steps, self._node, self._names)

    def take(self, made: _Made, panes: Panes) -> None:
        """Adds what a batch has made of the program."""
        tables = made.emitted(self._node, ROWS)
        emitted = [row for table in tables for row in table.iter_rows(named=True)]
        both = zip(emitted, made.rows(self._panes), strict=True)
        in_order = sorted(both, key=lambda pair: self._place(*pair))
        panes += [self._pane(emission, row, made.step) for emission, row in in_order]
        own = {other: name for name, other in self._names.items()}
        for node in walk(self._node):
            if isinstance(node, Grouping):
                late = _late(made, node)
                panes.late += [replace(each, grouping=own[node.name]) for each in late]
        for sink in self._rejected:
            panes.rejected += [{**row, "step": own[row["step"]]} for row in made.rows(sink)]

    def _key(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name, _ in self._node.keys)

    def _place(self, emitted: dict[str, Any], row: dict[str, Any]) -> tuple[Any, ...]:
        pane = emitted["order"], emitted["end"], emitted["start"], ordering(self._key(row))
        return *pane, emitted.get(INDEX), emitted["sign"], emitted["of_start"], emitted["of_end"]

    def _pane(self, emitted: dict[str, Any], row: dict[str, Any], step: int) -> Pane:
        values = tuple(row[name] for name, _, _ in self._node.aggregates)
        return Pane(
            key=simple_key(self._key(row)),
            window=(seconds(emitted["of_start"]), seconds(emitted["of_end"])),
            values=simple_values(self._node, values),
            timing=emitted["timing"],
            index=emitted["index"],
            first=emitted["first"],
            last=emitted["last"],
            kind="-" if emitted["sign"] < 0 else "+",
            step=step,
            timestamp=seconds(emitted["timestamp"]),
            window_index=emitted.get(INDEX),
        )


def _late(made: _Made, node: Grouping) -> Iterator[LateElement]:
    prepared, *_ = made.lowering.plan.feeding(node)
    assert prepared.input is not None
    assert prepared.input.input is not None
    schema = arrow_of(made.lowering.types[prepared.input.input])
    keys = [f"key {i}" for i in range(len(node.keys))]
    for table in made.emitted(node, LATE):
        rows = python_rows(to_arrow(table.select(pl.col("row").struct.unnest()), schema))
        about = python_rows(table.select(*keys, "time", "start", "end", "late").to_arrow())
        for each, row in zip(about, rows, strict=True):
            in_window = each["start"] is not None
            yield LateElement(
                key=simple_key(tuple(each[key] for key in keys)),
                value=row,
                time=seconds(each["time"]),
                window=(seconds(each["start"]), seconds(each["end"])) if in_window else None,
                reason=each["late"],
                step=made.step,
            )


@cache
def replay_session() -> SparkSession:
    """The session that all replays of this process share."""
    session = local_session("millstream-replay", partitions=SHARDS, short=True)
    if is_remote(session):
        raise RunError(
            "MS206",
            "replay(engine='spark') needs a Spark of its own, and this program has a session of "
            "Spark Connect",
            fix="replay in a program that has none",
        )
    session.sparkContext.setLogLevel("ERROR")
    return session
