"""Random streaming programs, several in one job over files; the reference says what is expected."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from pyspark import cloudpickle

import millstream as ms
from bags import bag
from millstream.model.errors import PlanError
from millstream.pipeline import Pipeline
from millstream.reference.interpreter import Interpreter

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import what tests do

SCHEMA = "key string, value int, at double, mark double"
TYPES = {"key": pl.String, "value": pl.Int32, "at": pl.Float64, "mark": pl.Float64}
SOURCES = ("left", "right")
START = 11 * 3600 - 50
"""In seconds: a day ends in Apia, and other windows begin, while batches arrive."""
SECONDS_A_BATCH = 12
FEWEST_PANES = 5
SLICED = 4
"""One in so many programs has windows that share slices."""
DEFAULT = ms.repeatedly(ms.at_watermark())
CLOSING = ["always", "if_changed"]
_FIRST_CHANGE = 1_000_000_000  # Spark reads files in the order in which they were last changed


class RandomJob:
    """A job of so many random programs, and what arrives in each micro-batch; the seed says all."""

    def __init__(self, seed: int, programs: int = 12, batches: int = 8) -> None:
        self._random = random = Random(seed)
        self.format = random.choice(["json", "parquet"])
        self.batches = [{name: self._rows(number) for name in SOURCES} for number in range(batches)]
        end = {"key": "z", "value": 1, "at": 1e6, "mark": 1e6}
        self.batches.append({name: [end] for name in SOURCES})  # most windows end
        self.programs = programs

    def _rows(self, number: int) -> list[dict]:
        random, now = self._random, START + number * SECONDS_A_BATCH
        return [
            {
                "key": random.choice("abc"),
                "value": random.choice([None, *range(-3, 10)]),
                "at": random.choice([None, *(float(now + late) for late in range(-25, 13))]),
                "mark": random.choice([None, None, float(now - random.randint(0, 10))]),
            }
            for _ in range(random.randint(0, 7))
        ]

    def write(self, folder: Path) -> None:
        """Writes the files, one for each source and micro-batch."""
        for number, batch in enumerate(self.batches):
            for source, rows in batch.items():
                path = folder / source / f"{number}.{self.format}"
                path.parent.mkdir(parents=True, exist_ok=True)
                if self.format == "json":
                    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
                else:
                    pl.DataFrame(rows, schema=TYPES).write_parquet(path)
                os.utime(path, (_FIRST_CHANGE + number,) * 2)

    def pipeline(self, folder: Path) -> Pipeline:
        """The programs, over the files of that folder."""
        sources = [
            ms.read_files(
                folder / name, self.format, schema=SCHEMA, max_files_per_batch=1, name=name
            )
            for name in SOURCES
        ]
        made: list[Pipeline] = []
        while len(made) < self.programs:
            try:
                program = self._program(sources, len(made))
            except PlanError:
                continue  # not every mixture is a program
            (panes, *_) = self.expected(program).values()
            if panes.total() >= FEWEST_PANES:
                made.append(program)
        return ms.pipeline(*made)

    def expected(self, pipeline: Pipeline) -> dict[str, Counter]:
        """The rows of each sink, by the reference."""
        interpreter = Interpreter(*pipeline.sinks, follows=True)
        rows: dict[str, list] = {sink.name: [] for sink in pipeline.sinks}
        for batch in self.batches:
            made = interpreter.step(rows=batch)
            for sink in pipeline.sinks:
                rows[sink.name] += [row.values for row in made.rows[sink]]
        return {name: bag(each) for name, each in rows.items()}

    def differences(self, pipeline: Pipeline, name: str, spark: Any) -> dict[str, Any]:
        """The sinks that do not have the rows of the reference after the job has run."""
        expected = self.expected(pipeline)
        job = pipeline.run(name, spark=spark).process_all().stop()
        found = {sink: bag(map(_without_place, job.rows(sink))) for sink in expected}
        return {
            sink: {"too many": found[sink] - rows, "missing": rows - found[sink]}
            for sink, rows in expected.items()
            if found[sink] != rows
        }

    # One program.

    def _program(self, sources: list[ms.Stream], number: int) -> Pipeline:
        random = self._random
        streams = [
            self._timed(source) for source in random.choice([sources[:1], sources[1:], sources])
        ]
        stream = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        lateness = random.choice([0, 5, 20])
        if number % SLICED == 0:
            grouped = self._sliced(stream, lateness)
        else:
            grouped = self._grouped(stream, lateness, second=False)
        if random.random() < 0.4:
            grouped = self._grouped(grouped, lateness=random.choice([0, "100d"]), second=True)
        sinks = [self._shown(grouped).collect(f"panes {number}")]
        if random.random() < 0.4:
            sinks.append(grouped.late.collect(f"late {number}"))
        if random.random() < 0.3:
            sinks.append(grouped.rejected.collect(f"rejected {number}"))
        return ms.pipeline(*sinks)

    def _timed(self, source: ms.Stream) -> ms.Stream:
        random = self._random
        policy = random.choice(
            [ms.bounded(random.randint(0, 15)), ms.ascending(), ms.punctuated("mark")]
        )
        stream = self._steps(source, random.randint(0, 2)).with_event_time("at", policy)
        return self._steps(stream, random.randint(0, 1))

    def _steps(self, stream: ms.Stream, count: int) -> ms.Stream:
        for _ in range(count):
            stream = self._random.choice(
                [
                    lambda s: s.filter("value >= 0"),
                    lambda s: s.filter("key <> 'a' OR value % 2 = 0"),
                    lambda s: s.with_columns(value="coalesce(value, 0) + 1"),
                    lambda s: s.select("upper(key) AS key", "value", "at", "mark"),
                    lambda s: s.map(_negative, schema=SCHEMA),
                    lambda s: s.flat_map(_some, schema=SCHEMA),
                ]
            )(stream)
        return stream

    def _grouped(self, stream: ms.Stream, lateness, second: bool) -> ms.Stream:
        random = self._random
        keys = ["key", "n % 2 AS rest"] if second else ["key", "value % 3 AS rest"]
        key = random.choice([*keys, None] if second else [*keys, None, _first_letter])
        if key is _first_letter:
            stream = stream.key_by(key, type="string")
        elif key is not None:
            stream = stream.key_by(key)
        stream = (
            stream.window(
                self._window(),
                allowed_lateness=lateness,
                on_time=random.choice(["always", "if_changed"]),
                closing=random.choice(CLOSING),
                timestamp=random.choice(["end", "earliest", "latest"]),
            )
            .trigger(self._trigger(2), allow_data_loss=True)
            .refine(random.choice([ms.discarding, ms.accumulating, ms.retracting]))
        )
        of = "n" if second else "value"
        aggregates = {
            "total": ms.sum(of),
            "low": ms.min(of),
            "mean": ms.mean(of),
            "all": ms.collect(of),
            "kinds": ms.count_distinct(of),
            "first": ms.first(of),
            "last": ms.last(of),
            "best": ms.top(2, by=of),
            "listed": ms.combine(of, create=list, add=_added, extract=len, returns="int"),
        }
        chosen = random.sample(sorted(aggregates), random.randint(0, 2))
        return stream.aggregate(n=ms.count(), **{name: aggregates[name] for name in chosen})

    def _sliced(self, stream: ms.Stream, lateness: int) -> ms.Stream:
        """A grouping whose windows overlap and share slices until they end."""
        random = self._random
        period = random.randint(1, 8)
        window = ms.sliding(period + random.randint(1, 40), period, random.randint(-5, 5))
        late = random.choice([None, ms.after_count(1), ms.repeatedly(ms.after_count(2))])
        return (
            stream.key_by("key")
            .window(window, allowed_lateness=lateness, closing=random.choice(CLOSING))
            .trigger(random.choice([ms.at_watermark(late=late), DEFAULT]), allow_data_loss=True)
            .refine(random.choice([ms.discarding, ms.accumulating, ms.retracting]))
            .aggregate(
                n=ms.count(), total=ms.sum("value"), low=ms.min("value"), last=ms.last("value")
            )
        )

    def _window(self) -> ms.Window:
        random = self._random
        size, offset = random.randint(1, 20), random.randint(-5, 5)
        return random.choice(
            [
                ms.fixed(size, offset),
                ms.sliding(size, random.randint(1, 8), offset),
                ms.session(size, random.choice([True, False])),
                ms.calendar("day", timezone="Pacific/Apia"),
                ms.global_window(),
            ]
        )

    def _trigger(self, depth: int) -> ms.Trigger:
        """Any trigger that does not go by the clock: a job's is that of its machine."""
        random = self._random
        leaf = random.choice([ms.after_count(random.randint(1, 4)), ms.at_watermark(), ms.never()])
        if depth == 0:
            return leaf
        part, other = self._trigger(depth - 1), self._trigger(depth - 1)
        return random.choice(
            [
                leaf,
                ms.at_watermark(
                    early=random.choice([None, part]), late=random.choice([None, other])
                ),
                ms.at_watermark(early=part, late=other),
                ms.repeatedly(part),
                ms.repeatedly(part),
                ms.first_of(part, other),
                ms.all_of(part, other),
                ms.in_order(part, other),
                part.or_finally(other),
            ]
        )

    def _shown(self, grouped: ms.Stream) -> ms.Stream:
        return self._random.choice(
            [
                lambda s: s,
                lambda s: s,
                lambda s: s.filter("n > 1"),
                lambda s: s.with_columns(twice="n * 2"),
                lambda s: s.map(_with_sum, schema=f"{s.schema}, more bigint"),
            ]
        )(grouped)


def _without_place(row: dict) -> dict:
    """A row without the file that its reason names: the reference reads none."""
    if "reason" not in row:
        return row
    return {**row, "reason": re.sub(", in (the file|line [0-9]+ of) /.*", "", row["reason"])}


def _negative(row: dict) -> dict:
    return {**row, "value": None if row["value"] is None else -row["value"]}


def _some(row: dict) -> list[dict]:
    return [row] * ((row["value"] or 0) % 3)


def _first_letter(row: dict) -> str:
    return row["key"][0]


def _added(before: list, value: object) -> list:
    return [*before, value]


def _with_sum(row: dict) -> dict:
    return {**row, "more": row["n"] + 1}
