"""The operators of a stage, for one shard and one micro-batch: from envelopes to envelopes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.engine.operator import LATE, REJECTED, ROWS, Outputs, in_order, row_count
from millstream.engine.state.arrivals import Arrival
from millstream.engine.state.document import Clocks
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.engine.watermarks import Watermarks
from millstream.model.errors import in_step
from millstream.model.instants import END_OF_TIME
from millstream.physical.operators.spec import OperatorSpec
from millstream.plan.records import shown
from millstream.spark.worker.batch_clock import of_this_task
from millstream.spark.worker.envelopes import CALL, Envelope
from millstream.spark.worker.python_stage import PythonStage
from millstream.spark.worker.repair import Repair
from millstream.spark.worker.samples import sampled

_MOST_ROWS = 250_000
MOST_SPLITS = 20
"""How many splits a job reports for each operator: those that are farthest behind."""


@dataclass
class Stage:
    """The operators of a stage. ``labels`` are the names of the shards, ``later`` the origins of
    watermarks that later stages need, too.
    """

    specs: list[OperatorSpec[Any]]
    labels: list[int]
    later: frozenset[str]
    then: PythonStage | None = None
    """What Python does next with the rows that are emitted."""
    run_id: str = ""
    repairs: tuple[Repair, ...] = ()
    """Watermarks that are put back, each from some batch of the run on."""

    @property
    def clock(self) -> int:
        """The clock of the batch that this task is part of, if an operator reads it."""
        reads_clock = any(spec.reads_clock for spec in self.specs)
        return of_this_task(self.run_id).clock if reads_clock else 0

    def run(
        self,
        label: int,
        envelopes: Iterable[Envelope],
        state: ShardState,
        now: int,
        ends: bool = False,
    ) -> Iterator[Envelope]:
        """What a shard sends on; ``ends`` says that no more will ever come."""
        made = self._made(label, envelopes, state, now, ends)
        if self.then is None:
            return (envelope.sealed() for envelope in made)
        return self.then.after(made, self.labels.index(label))

    def wakes(self, state: ShardState, now: int) -> int | None:
        """When something happens by the clock alone, in microseconds."""
        moments = []
        for spec in self.specs:
            mine = state.of(spec.name)
            moments.append(Watermarks(spec.origins, mine.clocks.channels).next_move(now))
            due = Shard(spec.operator, mine).next_due
            moments.append(None if due is None else due + 1)
        return min((moment for moment in moments if moment is not None), default=None)

    def _made(
        self, label: int, envelopes: Iterable[Envelope], state: ShardState, now: int, ends: bool
    ) -> Iterator[Envelope]:
        # The order in which envelopes come out of a shuffle is not fixed; that of their origins is.
        given = sorted(envelopes, key=lambda e: (e.kind, e.split or ""))
        mine = {spec.name for spec in self.specs}
        marks = sorted(
            (e for e in given if e.kind == "mark"), key=lambda e: (e.node, e.split or "")
        )
        clocks = {e.node: e.value or 0 for e in given if e.kind == "clock"}
        self._repair(state)
        arrivals: dict[str, list[Envelope]] = {spec.name: [] for spec in self.specs}
        for envelope in given:
            if envelope.kind == "arrival" and envelope.node in mine:
                arrivals[envelope.node].append(envelope)
            elif envelope.kind != "mark" or envelope.node in self.later:
                yield envelope
        for spec in self.specs:
            clock = clocks.get(spec.name, now)
            watermarks = Watermarks(spec.origins, state.of(spec.name).clocks.channels)
            _report(watermarks, spec, marks, clock)
            watermark = END_OF_TIME if ends else watermarks.advance(clock)
            if label == self.labels[0] and spec.followed:  # every shard knows the same of them
                slowest = json.dumps(watermarks.slowest(sorted(spec.followed), MOST_SPLITS, clock))
                yield Envelope(label, spec.name, "splits", payload=slowest.encode())
            yield from self._step(spec, label, arrivals[spec.name], state, watermark, clock)

    def _repair(self, state: ShardState) -> None:
        """Puts watermarks back, once for each repair."""
        for repair in self.repairs:
            if state.document.repaired < repair.batch <= of_this_task(self.run_id).batch:
                for spec in self.specs:
                    mine = state.of(spec.name)
                    Watermarks(spec.origins, mine.clocks.channels).put_back(repair.watermark)
                    Shard(spec.operator, mine).put_back(repair.watermark)
                state.document.repaired = repair.batch

    def _step(
        self,
        spec: OperatorSpec[Any],
        label: int,
        arrivals: list[Envelope],
        state: ShardState,
        watermark: int,
        now: int,
    ) -> Iterator[Envelope]:
        shard = Shard(spec.operator, state.of(spec.name))
        # Of one origin, several buckets may have come.
        arrivals.sort(key=lambda e: (e.split or "", e.start or 0, e.end or 0))
        if spec.call_times is not None:
            spec.call_times.begin(time.perf_counter)
        with in_step(spec.name):
            outputs = shard.step([_arrival(e) for e in arrivals], watermark, now)
            yield from _emitted(spec, label, len(self.labels), outputs)
        if spec.feeds_operators:
            split, reached = str(self.labels.index(label)), shard.clocks.output_watermark
            for each in self.labels:
                yield Envelope(each, spec.name, "mark", split=split, value=reached)
        yield from _counts(spec, label, shard.clocks)
        yield from _call_times(spec, label)


def _report(
    watermarks: Watermarks, spec: OperatorSpec[Any], marks: Iterable[Envelope], now: int
) -> None:
    for origin, splits in spec.splits.items():
        watermarks.expect(origin, splits, now)
    for mark in marks:
        if mark.node in spec.origins and mark.value is not None:
            watermarks.report(mark.node, mark.split or "", mark.value, now)


def _arrival(envelope: Envelope) -> Arrival:
    assert envelope.payload is not None
    bucket = None if envelope.start is None else (envelope.start, envelope.end)
    port = ROWS if envelope.port is None else envelope.port
    return Arrival(envelope.payload, envelope.elements, bucket, envelope.value, port)


def _emitted(
    spec: OperatorSpec[Any], label: int, shards: int, outputs: Outputs
) -> Iterator[Envelope]:
    """The rows that a step emits, by tag, in an order that a repeated step repeats."""
    number = 0
    for tag, tables in sorted(outputs.items(), key=lambda each: each[0] != ROWS):
        if tag in (LATE, REJECTED) and tables:
            counted = sum(map(row_count, tables))
            yield Envelope(label, spec.name, "count", split=tag, value=counted)
            yield from sampled(spec, label, shards, tag, tables[0])
        if tag != ROWS and tag not in spec.tags:
            continue
        if tag == ROWS:
            rows = in_order(tables, spec.operator.order)
            tables = [] if rows is None else list(rows.iter_slices(_MOST_ROWS))
            if rows is not None:
                yield Envelope(label, spec.name, "count", split="out", value=rows.height)
                yield from sampled(spec, label, shards, tag, rows)
        for table in tables:
            if table.height:
                number += 1
                origin = f"{label}/{number:06}"
                sent = Envelope(label, spec.name, "emit", split=origin, port=tag, rows=table)
                sent.elements = table.height
                yield sent


def _call_times(spec: OperatorSpec[Any], label: int) -> Iterator[Envelope]:
    """The microseconds that each callback took, and those of its longest turn, with the key."""
    taken = {} if spec.call_times is None else spec.call_times.taken
    for callback, (total, longest, key) in taken.items():
        count = Envelope(label, spec.name, "count", split=f"{CALL}{callback}")
        count.value, count.start = round(total * 1_000_000), round(longest * 1_000_000)
        count.payload = shown(key).encode()
        yield count


def _counts(spec: OperatorSpec[Any], label: int, clocks: Clocks) -> Iterator[Envelope]:
    counts = {
        "watermark": clocks.watermark,
        "state_rows": sum(bucket.all_rows for bucket in clocks.all_buckets),
        "state_bytes": sum(bucket.all_bytes for bucket in clocks.all_buckets),
    }
    for what, value in counts.items():
        yield Envelope(label, spec.name, "count", split=what, value=value)
