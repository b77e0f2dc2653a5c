"""The groupings of a stage, for one shard and one micro-batch: from envelopes to envelopes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.engine.grouping.tables import Output, concatenated
from millstream.engine.state.arrivals import Arrival
from millstream.engine.state.shard import Shard, Store
from millstream.engine.watermarks import Watermarks
from millstream.model.instants import END_OF_TIME
from millstream.physical.specs import GroupingSpec
from millstream.plan.steps import in_step
from millstream.spark.driver.repairs import Repair
from millstream.spark.worker.batch_clock import of_this_task
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.python_stage import PythonStage

_MOST_ROWS = 250_000
MOST_SPLITS = 20
"""How many splits a job reports for each grouping: those that are farthest behind."""


class Shelf:
    """What a stage keeps for one shard: blobs in a store, and the clocks of all its groupings.

    The clocks are read and written together, once for each micro-batch.
    """

    def __init__(self, blobs: Store, clocks: bytes | None) -> None:
        self.blobs = blobs
        self.clocks: dict[str, Any] = {} if clocks is None else json.loads(clocks)

    def to_json(self) -> bytes:
        return json.dumps(self.clocks, separators=(",", ":")).encode()


@dataclass
class Drawer:
    """The part of a shelf that belongs to one grouping."""

    shelf: Shelf
    name: str

    def read(self, name: str) -> bytes | None:
        if name == "clocks":
            told = self.shelf.clocks.get(f"{self.name}/clocks")
            return None if told is None else str(told).encode()
        return self.shelf.blobs.read(f"{self.name}/{name}")

    def write(self, name: str, blob: bytes) -> None:
        if name == "clocks":
            self.shelf.clocks[f"{self.name}/clocks"] = blob.decode()
        else:
            self.shelf.blobs.write(f"{self.name}/{name}", blob)

    def remove(self, name: str) -> None:
        self.shelf.blobs.remove(f"{self.name}/{name}")


@dataclass
class Stage:
    """The groupings of a stage. ``labels`` are the names of the shards, ``later`` the origins of
    watermarks that later stages want to hear of, too.
    """

    specs: list[GroupingSpec]
    labels: list[int]
    later: frozenset[str]
    then: PythonStage | None = None
    """What Python does next with what comes out."""
    run_id: str = ""
    repairs: tuple[Repair, ...] = ()
    """Watermarks that are put back, each from some batch of the run on."""

    def run(
        self, label: int, envelopes: Iterable[Envelope], shelf: Shelf, now: int, ends: bool = False
    ) -> Iterator[Envelope]:
        """What a shard puts out; ``ends`` says that no more will ever come."""
        made = self._made(label, envelopes, shelf, now, ends)
        if self.then is None:
            return (envelope.sealed() for envelope in made)
        return self.then.after(made, self.labels.index(label))

    def _made(
        self, label: int, envelopes: Iterable[Envelope], shelf: Shelf, now: int, ends: bool
    ) -> Iterator[Envelope]:
        # The order in which envelopes come out of a shuffle is not fixed; that of their origins is.
        given = sorted(envelopes, key=lambda e: (e.kind, e.split or ""))
        mine = {spec.name for spec in self.specs}
        marks = sorted(
            (e for e in given if e.kind == "mark"), key=lambda e: (e.node, e.split or "")
        )
        now = max([now, *(e.value or 0 for e in given if e.kind == "clock")])
        self._repair(shelf)
        arrivals: dict[str, list[Envelope]] = {spec.name: [] for spec in self.specs}
        for envelope in given:
            if envelope.kind == "arrival" and envelope.node in mine:
                arrivals[envelope.node].append(envelope)
            elif envelope.kind != "mark" or envelope.node in self.later:
                yield envelope
        for spec in self.specs:
            yield from self._group(spec, label, arrivals[spec.name], marks, shelf, now, ends)

    def _repair(self, shelf: Shelf) -> None:
        """Puts watermarks back that are to be, once for each repair."""
        for repair in self.repairs:
            if shelf.clocks.get("repaired", -1) < repair.batch <= of_this_task(self.run_id).batch:
                for spec in self.specs:
                    kept = shelf.clocks.get(f"{spec.name}/marks", {})
                    watermarks = Watermarks.from_json(spec.origins, kept)
                    watermarks.put_back(repair.watermark)
                    shelf.clocks[f"{spec.name}/marks"] = watermarks.to_json()
                    Shard(spec.grouping, Drawer(shelf, spec.name)).put_back(repair.watermark)
                shelf.clocks["repaired"] = repair.batch

    def _group(
        self,
        spec: GroupingSpec,
        label: int,
        arrivals: list[Envelope],
        marks: list[Envelope],
        shelf: Shelf,
        now: int,
        ends: bool,
    ) -> Iterator[Envelope]:
        watermarks = Watermarks.from_json(spec.origins, shelf.clocks.get(f"{spec.name}/marks", {}))
        for origin, splits in spec.splits.items():
            watermarks.expect(origin, splits, now)
        for mark in marks:
            if mark.node in spec.origins and mark.value is not None:
                watermarks.hear(mark.node, mark.split or "", mark.value, now)
        watermark = END_OF_TIME if ends else watermarks.advance(now)
        shelf.clocks[f"{spec.name}/marks"] = watermarks.to_json()
        if label == self.labels[0] and spec.followed:  # every shard knows the same of them
            slowest = json.dumps(watermarks.slowest(sorted(spec.followed), MOST_SPLITS, now))
            yield Envelope(label, spec.name, "splits", payload=slowest.encode())
        shard = Shard(spec.grouping, Drawer(shelf, spec.name))
        # Of one origin, several windows may have come.
        arrivals.sort(key=lambda e: (e.split or "", e.start or 0, e.end or 0))
        with in_step(spec.name):
            output = shard.step([_arrival(e) for e in arrivals], watermark, now)
            yield from _put_out(spec, label, output)
        clocks = shard.clocks
        if spec.feeds_groupings:
            for each in self.labels:
                split = str(self.labels.index(label))
                yield Envelope(each, spec.name, "mark", split=split, value=clocks.output_watermark)
        yield Envelope(label, spec.name, "count", split="watermark", value=clocks.watermark)
        buckets = clocks.buckets.values()
        rows = sum(bucket.all_rows for bucket in buckets)
        size = sum(bucket.all_bytes for bucket in buckets)
        yield Envelope(label, spec.name, "count", split="state_rows", value=rows)
        yield Envelope(label, spec.name, "count", split="state_bytes", value=size)

    def wakes(self, shelf: Shelf, now: int) -> int | None:
        """When something happens by the clock alone, in microseconds."""
        moments = []
        for spec in self.specs:
            told = shelf.clocks.get(f"{spec.name}/marks", {})
            moments.append(Watermarks.from_json(spec.origins, told).next_move(now))
            due = Shard(spec.grouping, Drawer(shelf, spec.name)).next_due
            moments.append(None if due is None else due + 1)
        return min((moment for moment in moments if moment is not None), default=None)


def _arrival(envelope: Envelope) -> Arrival:
    assert envelope.payload is not None
    window = (
        None if envelope.start is None or envelope.end is None else (envelope.start, envelope.end)
    )
    return Arrival(envelope.payload, envelope.elements, window, envelope.value)


def _put_out(spec: GroupingSpec, label: int, output: Output) -> Iterator[Envelope]:
    number = 0
    for part in _in_order(output.panes):
        if part.height:
            number += 1
            origin = f"{label}/{number:06}"
            yield Envelope(label, spec.name, "pane", None, None, part.height, origin, rows=part)
    late = 0
    for table in output.late:
        late += int(table["new"].sum()) if "new" in table.columns else table.height
        if spec.keeps_late and table.height:
            number += 1
            origin = f"{label}/{number:06}"
            yield Envelope(label, spec.name, "late", None, None, table.height, origin, rows=table)
    if late:
        yield Envelope(label, spec.name, "count", split="late", value=late)


def _in_order(tables: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """All panes of a step, by the ends of their windows: so a reader of a topic gets a key's."""
    # Of one order are all panes of a table; the tables come by the ends of windows, as a rule.
    panes = concatenated(*sorted(tables, key=lambda table: table["order"].max() or 0))
    if panes is None:
        return
    if not (panes["order"].is_sorted() and panes["end"].is_sorted()):
        panes = panes.sort("order", "end", maintain_order=True)  # retractions before their panes
    yield from panes.iter_slices(_MOST_ROWS)
