"""A shard of a grouping's keys: its state stands in buckets, and a batch touches few of them.

A bucket holds one window, where windows are the same for all keys, or else one part of the keys.
For each the shard knows when something will happen in it: at which watermark a window ends or
expires, at which time a trigger is due. Only buckets that got elements, or in which something
happens, are read and written. Where elements change nothing before their window's end, they are
not even read: what came is put beside the rest as it is, and merged when the window fires.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import polars as pl

from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated, Output, State, concatenated
from millstream.engine.state.arrivals import (
    LANES,
    Arrival,
    Piece,
    cut,
    is_large,
    joined,
    lanes,
    let_out_late,
    opened,
    rows_of,
)
from millstream.engine.state.blobs import VERSION, packed, unpacked
from millstream.engine.watermarks import limited
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.windowing import Windowing

BUCKETS = 16
"""How many parts the keys of a shard are in, where buckets are parts of the keys."""
MOST_PARTS = 16
"""How many parts of about one size may stand beside a bucket's tables before they become one."""
_TABLES = ("panes", "elements", "emitted")


class Store(Protocol):
    """Where blobs are kept from batch to batch."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, blob: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


@dataclass(slots=True)
class Bucket:
    """What is known of a bucket without reading it.

    ``wakes`` is the watermark at which something happens in it, ``due`` the time at which a trigger
    may fire, ``holds`` the event time that the output watermark may not pass; ``parts`` are batches
    that wait beside the tables, each with the watermark at which it came, its rows and bytes, by
    the name of their lane, which is empty for those of all keys.
    """

    tables: list[str] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    wakes: int = END_OF_TIME
    due: int | None = None
    holds: int | None = None
    parts: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)

    @property
    def all_rows(self) -> int:
        """How many rows it has, in tables and parts."""
        return self.rows + sum(rows for lane in self.parts.values() for _, rows, _ in lane)

    @property
    def all_bytes(self) -> int:
        """How many bytes they are."""
        return self.size + sum(size for lane in self.parts.values() for _, _, size in lane)

    def part_names(self, lane: str | None = None) -> list[str]:
        """The names of the parts, after that of the bucket; of one lane, or of all."""
        lanes = self.parts if lane is None else {lane: self.parts.get(lane, [])}
        return [f"{each}+{i}" for each, parts in lanes.items() for i in range(len(parts))]


@dataclass(slots=True)
class Clocks:
    """How far time has come for a shard, and what its buckets are."""

    version: int = VERSION
    watermark: int = START_OF_TIME
    output_watermark: int = START_OF_TIME
    now: int = 0
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """All of it as text."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes | str) -> Clocks:
        """What ``to_json`` gave, refused if it is of another version."""
        version = msgspec.json.decode(text, type=_Versioned).version
        if version != VERSION:
            raise ValueError(f"a state of format {version}, where {VERSION} is known")
        return msgspec.json.decode(text, type=cls)


class _Versioned(msgspec.Struct):
    version: int


def sharded(
    windowing: Windowing,
    keys: Sequence[str],
    aggregates: Sequence[Aggregated],
    takes_retractions: bool = False,
    keeps_late: bool = True,
) -> Grouping:
    """A grouping whose state a shard can keep: the bucket of a key is part of it, where needed."""
    grouping = Grouping(windowing, keys, aggregates, takes_retractions, keeps_late)
    if grouping.compiled.by_window:
        return grouping
    return Grouping(windowing, ["bucket", *keys], aggregates, takes_retractions, keeps_late)


Arrived = dict[str, list[Arrival | Piece]]
"""What came in a batch, by the names of buckets."""


class Shard:
    """The state of one grouping for some of its keys, in a store."""

    def __init__(self, grouping: Grouping, store: Store) -> None:
        self.grouping = grouping
        self._compiled = grouping.compiled
        self._store = store
        told = store.read("clocks")
        self.clocks = Clocks() if told is None else Clocks.from_json(told)

    def step(self, arrivals: Sequence[Arrival], watermark: int, now: int) -> Output:
        """What a batch, a watermark and a clock let out; the store has what is left."""
        before = self._where_time_is()
        output = Output()
        clocks = self.clocks
        arrived = self._sorted(arrivals, output)
        watermark, now = max(watermark, clocks.watermark), max(now, clocks.now)
        awake = {n for n, b in clocks.buckets.items() if _happens(b, watermark, now)}
        for name in list(arrived):
            if self._can_wait(name, awake, watermark):
                self._put_beside(name, arrived.pop(name))
        ending = [n for n in sorted(awake | arrived.keys()) if self._ends(n, watermark)]
        for names in self._together(ending, arrived):
            output.panes += self._final_panes(names, arrived)
        touched = sorted((awake | arrived.keys()).difference(ending))
        for names in self._together(touched, arrived):
            self._step_in(names, arrived, watermark, now, output)
        clocks.watermark, clocks.now = watermark, now
        holds = [b.holds for b in clocks.buckets.values() if b.holds is not None]
        clocks.output_watermark = max(clocks.output_watermark, min([watermark, *holds]))
        if touched or arrivals or self._where_time_is() != before:
            self._store.write("clocks", clocks.to_json())
        return output

    def put_back(self, limit: int) -> None:
        """Takes its watermarks back to ``limit``; windows that have ended do not come back."""
        clocks = self.clocks
        clocks.watermark = limited(clocks.watermark, limit)
        clocks.output_watermark = limited(clocks.output_watermark, limit)
        self._store.write("clocks", clocks.to_json())

    @property
    def next_due(self) -> int | None:
        """When a trigger may fire next by the clock alone."""
        moments = [b.due for b in self.clocks.buckets.values() if b.due is not None]
        return min(moments, default=None)

    def _where_time_is(self) -> tuple[int, int, int]:
        return self.clocks.watermark, self.clocks.output_watermark, self.clocks.now

    def _sorted(self, arrivals: Iterable[Arrival], output: Output) -> Arrived:
        """What arrived, by bucket; windows that have expired take nothing."""
        arrived: Arrived = defaultdict(list)
        lateness = self._compiled.windowing.allowed_lateness
        expired = max(self.clocks.watermark - lateness, START_OF_TIME)
        for arrival in arrivals:
            if arrival.window is None:
                rows = unpacked(arrival.blob)
                if self._compiled.by_window:
                    rows = let_out_late(rows, expired, output)
                for name, piece in self._pieces(rows):
                    arrived[name].append(piece)
            elif arrival.window[1] <= expired:
                (rows,) = joined([opened(arrival)])
                output.late.append(rows.with_columns(late=pl.lit("expired")))
            else:
                arrived[":".join(map(str, arrival.window))].append(arrival)
        return arrived

    def _can_wait(self, name: str, awake: set[str], watermark: int) -> bool:
        if not self._compiled.appends or name in awake:
            return False
        return int(name.partition(":")[2]) > watermark

    def _put_beside(self, name: str, arrivals: list[Arrival | Piece]) -> None:
        end = int(name.partition(":")[2])
        bucket = self.clocks.buckets.setdefault(name, Bucket(wakes=end, holds=end - 1))
        for each in arrivals:
            arrival = each
            if isinstance(each, Piece):
                arrival = Arrival(packed(each.rows), each.rows.height, each.window)
            assert isinstance(arrival, Arrival)
            if self._compiled.windowing.timestamp != "end":
                bucket.holds = _least(bucket.holds, self._earliest(arrival))
            self._add_part(name, bucket, arrival, self._needed(arrival))

    def _add_part(self, name: str, bucket: Bucket, arrival: Arrival, blob: bytes) -> None:
        """Puts a part into its lane, or parts into all lanes if it is a large one."""
        if arrival.lane is None and is_large(arrival.rows):
            for each in cut(unpacked(blob), self._compiled.keys):
                self._add_part(name, bucket, each, each.blob)
            return
        lane = "" if arrival.lane is None else f"#{arrival.lane}"
        parts = bucket.parts.setdefault(lane, [])
        self._store.write(f"{name}{lane}+{len(parts)}", blob)
        parts.append((self.clocks.watermark, arrival.rows, len(blob)))
        self._merge_parts(name, bucket, lane)

    def _merge_parts(self, name: str, bucket: Bucket, lane: str) -> None:
        """Makes one part of the last ones of a lane, where many are no larger than the very last.

        As in a log-structured merge tree, a row is merged once for each step in size, and the large
        parts, which hold most of the keys, are hardly ever read.
        """
        parts = bucket.parts[lane]
        while parts:
            first = len(parts)
            while first and _tier(parts[first - 1][1]) <= _tier(parts[-1][1]):
                first -= 1
            # Lanes fill alike: so that they are not all merged in one batch, some may have more.
            most = max(MOST_PARTS, 2) + int(lane[1:] or 0)
            if len(parts) - first < most:
                return
            names = [f"{lane}+{i}" for i in range(first, len(parts))]
            table = self._merged([self._part(name, bucket, each) for each in names])
            for each in names:
                self._store.remove(f"{name}{each}")
            if not lane and is_large(table.height):
                del parts[first:]
                for piece in cut(table, self._compiled.keys):
                    self._add_part(name, bucket, piece, piece.blob)
                continue
            blob = packed(table)
            self._store.write(f"{name}{lane}+{first}", blob)
            parts[first:] = [(parts[first][0], table.height, len(blob))]

    def _merged(self, pieces: list[Piece]) -> pl.DataFrame:
        """The rows of pieces of one window, which stays unsaid."""
        # A program may have been changed to combine or not, while batches of both kinds wait.
        if self._compiled.combines and all("new" in piece.rows.columns for piece in pieces):
            return self._compiled.combined(rows_of(piece.rows for piece in pieces))
        return rows_of(joined(pieces)).drop("start", "end")

    def _part(self, name: str, bucket: Bucket, part: str) -> Piece:
        """A part, with the watermark at which it came, unless its rows say so: see ``joined``."""
        start, _, end = name.partition(":")
        lane, _, number = part.partition("+")
        arrived, _, _ = bucket.parts[lane][int(number)]
        return Piece(unpacked(self._blob(f"{name}{part}")), (int(start), int(end)), arrived)

    def _needed(self, arrival: Arrival) -> bytes:
        """What arrived, without columns that only the late output would have wanted."""
        if not self._compiled.keeps_late:
            return arrival.blob
        table = unpacked(arrival.blob)
        return packed(table.select(c for c in table.columns if c in self._compiled.needed))

    def _earliest(self, arrival: Arrival) -> int | None:
        times = unpacked(arrival.blob)["time"]
        return times.filter(times >= self.clocks.watermark).min()  # type: ignore[return-value]

    def _ends(self, name: str, watermark: int) -> bool:
        """Whether all that a bucket will ever do is to let out one pane for each key, now.

        So it is, if nothing could happen before the end of its window, and with that it expires.
        """
        compiled, bucket = self._compiled, self.clocks.buckets.get(name, Bucket())
        if not compiled.appends or compiled.results.keeps_elements or bucket.tables:
            return False
        end, lateness = int(name.partition(":")[2]), compiled.windowing.allowed_lateness
        on_time = compiled.windowing.timestamp == "end" and end > self.clocks.watermark
        return on_time and end <= max(watermark - lateness, START_OF_TIME)

    def _final_panes(self, names: list[str], arrived: Arrived) -> Iterator[pl.DataFrame]:
        """The panes of windows that end: of many small ones together, of a large one by lanes."""
        pieces: list[Piece] = []
        for name in names:
            bucket = self.clocks.buckets.pop(name, Bucket())
            mine = [opened(each) for each in arrived.get(name, [])]
            mine += [self._part(name, bucket, part) for part in bucket.part_names("")]
            if bucket.parts.keys() - {""}:
                yield from self._panes_oflanes(name, bucket, mine)
            else:
                pieces += mine
            for part in bucket.part_names():
                self._store.remove(f"{name}{part}")
        if pieces:
            yield self.grouping.final_panes(joined(pieces))

    def _panes_oflanes(
        self, name: str, bucket: Bucket, pieces: list[Piece]
    ) -> Iterator[pl.DataFrame]:
        """The panes of a window whose parts are in lanes, or in these pieces."""
        tables = joined(pieces)
        numbers = [lanes(table, self._compiled.keys) for table in tables]
        for lane in range(LANES):
            some = [t.filter(n == lane) for t, n in zip(tables, numbers, strict=True)]
            parts = bucket.part_names(f"#{lane}")
            some += joined([self._part(name, bucket, part) for part in parts])
            if some:
                yield self.grouping.final_panes(some)

    def _together(self, names: list[str], arrived: Arrived) -> Iterator[list[str]]:
        """The buckets that the engine runs in at a time: many small ones, or a large one."""
        some: list[str] = []
        rows = 0
        for name in names:
            mine = sum(
                a.rows if isinstance(a, Arrival) else a.rows.height for a in arrived.get(name, ())
            )
            mine += self.clocks.buckets.get(name, Bucket()).all_rows
            if some and is_large(rows + mine):
                yield some
                some, rows = [], 0
            some.append(name)
            rows += mine
        if some:
            yield some

    def _step_in(
        self,
        names: list[str],
        arrived: Arrived,
        watermark: int,
        now: int,
        output: Output,
    ) -> None:
        """Reads the buckets, runs the engine in them, and writes them back."""
        tables: dict[str, list[pl.DataFrame]] = defaultdict(list)
        pieces: list[Piece] = []
        for name in names:
            bucket = self.clocks.buckets.get(name, Bucket())
            for kind in bucket.tables:
                tables[kind].append(unpacked(self._blob(f"{name}/{kind}")))
            pieces += map(opened, arrived.get(name, []))
            pieces += [self._part(name, bucket, part) for part in bucket.part_names()]
        state = State(
            panes=concatenated(*tables["panes"]),
            elements=concatenated(*tables["elements"]),
            emitted=concatenated(*tables["emitted"]),
            watermark=self.clocks.watermark,
            output_watermark=self.clocks.output_watermark,
            now=self.clocks.now,
        )
        batch = concatenated(*joined(pieces))
        state, made = self.grouping.step(state, batch, watermark, now)
        output.panes += made.panes
        output.late += made.late
        self._write(names, state)

    def _blob(self, name: str) -> bytes:
        blob = self._store.read(name)
        if blob is None:
            raise ValueError(f"the state has lost its table {name!r}")
        return blob

    def _write(self, names: list[str], state: State) -> None:
        tables = {kind: self._split(getattr(state, kind)) for kind in _TABLES}
        facts = self._facts(state)
        for name in names:
            old = self.clocks.buckets.pop(name, Bucket())
            for part in old.part_names():
                self._store.remove(f"{name}{part}")
            held = {kind: tables[kind][name] for kind in _TABLES if name in tables[kind]}
            for kind in set(old.tables) - held.keys():
                self._store.remove(f"{name}/{kind}")
            if held:
                blobs = {kind: packed(table) for kind, table in held.items()}
                for kind, blob in blobs.items():
                    self._store.write(f"{name}/{kind}", blob)
                self.clocks.buckets[name] = Bucket(
                    tables=sorted(blobs),
                    rows=sum(table.height for table in held.values()),
                    size=sum(map(len, blobs.values())),
                    **facts[name],
                )

    @property
    def _bucket(self) -> list[str]:
        """The columns that say in which bucket a row is."""
        return ["start", "end"] if self._compiled.by_window else ["bucket"]

    def _split(self, table: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
        """The table by the names of the buckets that it is of."""
        if table is None or not table.height:
            return {}
        return dict(zip(self._names(table), table.partition_by(self._bucket), strict=True))

    def _pieces(self, table: pl.DataFrame) -> Iterator[tuple[str, Piece]]:
        """What came for several buckets, by their names."""
        if not self._compiled.by_window:
            yield from ((name, Piece(rows)) for name, rows in self._split(table).items())
        elif table.height:
            parts = table.partition_by(self._bucket, include_key=False)
            for name, rows in zip(self._names(table), parts, strict=True):
                start, _, end = name.partition(":")
                yield name, Piece(rows, (int(start), int(end)))

    def _names(self, table: pl.DataFrame) -> Iterator[str]:
        """The names of the buckets that a table is of, in the order of their first rows."""
        buckets = table.select(self._bucket).unique(maintain_order=True)
        return (":".join(map(str, bucket)) for bucket in buckets.iter_rows())

    def _facts(self, state: State) -> dict[str, dict[str, Any]]:
        """When something will happen in each bucket, and what holds the output watermark."""
        grouping, facts = self.grouping, defaultdict[str, dict[str, Any]](dict)
        for name, told in self._of_buckets(
            state.panes,
            wakes=grouping.wakes(state).min(),
            due=grouping.due(state),
            holds=grouping.holds().min(),
        ):
            facts[name] = told
        owed = None if state.emitted is None else state.emitted.filter(grouping.owed())
        for name, told in self._of_buckets(owed, holds=pl.col("timestamp").min()):
            facts[name]["holds"] = _least(facts[name].get("holds"), told["holds"])
        return facts

    def _of_buckets(
        self, table: pl.DataFrame | None, **told: pl.Expr
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is told of the rows of each bucket, with its name."""
        if table is None or not table.height:
            return
        rows = table.group_by(self._bucket).agg(**told)
        yield from zip(
            self._names(rows), rows.select(told.keys()).iter_rows(named=True), strict=True
        )


def _happens(bucket: Bucket, watermark: int, now: int) -> bool:
    return bucket.wakes <= watermark or (bucket.due is not None and bucket.due < now)


def _tier(rows: int) -> int:
    """The size of a part: each step is sixteen times the one before."""
    return rows.bit_length() // 4


def _least(*moments: int | None) -> int | None:
    return min((moment for moment in moments if moment is not None), default=None)
