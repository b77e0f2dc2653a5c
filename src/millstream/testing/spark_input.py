"""The steps of a replay as files that Spark reads: one file, and one micro-batch, for each step.

A file holds the rows of all sources, each in the struct column of its schema. Beside them it has
the envelopes that move watermarks and clocks: in a job, watermark policies and Spark do that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from millstream.engine.rows import fitting
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.physical.plan import Physical
from millstream.plan.nodes import Source, Stateful, walk
from millstream.plan.types.schema import hidden
from millstream.spark.columns import col
from millstream.spark.types import arrow_of, struct_of
from millstream.spark.worker.envelopes import ARROW, ENVELOPE, NAMES, Envelope
from millstream.testing.pipelines import elements_of, source_of

_SOURCE = "source"
_FIRST_CHANGE = 1_000_000_000  # Spark reads files in the order in which they were last changed


@dataclass
class SourceSteps:
    """The steps of one program, whose sources have other ``names`` in the query that it is part of.

    ``output`` is its last step in that query.
    """

    steps: Sequence[Step]
    output: Stateful
    names: Mapping[str, str]
    clock: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        nodes = list(walk(self.output))
        self.operators = [node for node in nodes if isinstance(node, Stateful)]
        sources = {node.name: node for node in nodes if isinstance(node, Source)}
        self.sources = {own: sources[name] for own, name in self.names.items() if name in sources}

    def move(self, number: int, plan: Physical, labels: list[int]) -> Iterator[Envelope]:
        """What moves the program's watermarks and clock in a step; they stay after its last."""
        step = self._step(number)
        if isinstance(step, ProcessingTime):
            self.clock = max(self.clock, step.us)
        for label in labels:
            for operator in self.operators:
                yield Envelope(label, operator.name, "clock", value=self.clock)
        if isinstance(step, Watermark):
            names = self.sources if step.source is None else [source_of(step, self.sources)]
            moved = [self.sources[name] for name in names]
            fed = [i for operator in self.operators for i in plan.feeding(operator)]
            for mark in dict.fromkeys(i.mark for i in fed if i.source in moved):
                for label in labels:
                    yield Envelope(label, mark, "mark", split="", value=step.us)

    def _step(self, number: int) -> Step | None:
        return self.steps[number] if number < len(self.steps) else None

    def rows(self, number: int) -> tuple[Source, list[dict[str, Any]]] | None:
        """The rows that arrive in a step, and the source that they are of."""
        step = self._step(number)
        if not isinstance(step, Elements):
            return None
        name = source_of(step, self.sources)
        return self.sources[name], elements_of(step, number, name, self.sources[name].schema)


class SparkInput:
    """The folder of the files, and how Spark reads a source from them."""

    def __init__(self, folder: Path, plan: Physical) -> None:
        self._folder = folder
        folder.mkdir()
        self._plan = plan
        self._structs = {
            schema: (f"rows {i}", struct_of(schema))
            for i, schema in enumerate(dict.fromkeys(str(s.schema) for s in plan.sources))
        }
        envelope = struct_of(ENVELOPE)
        self._types = StructType(
            [
                StructField(_SOURCE, StringType()),
                *(StructField(name, struct) for name, struct in self._structs.values()),
                *(StructField(hidden(f.name), f.dataType) for f in envelope.fields),
            ]
        )

    def write(self, scripts: Sequence[SourceSteps], labels: list[int]) -> None:
        """Writes the files."""
        for number in range(max((len(script.steps) for script in scripts), default=0)):
            rows = [row for script in scripts for row in self._rows(script, number, labels)]
            path = self._folder / f"{number}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, self._schema), path)
            os.utime(path, (_FIRST_CHANGE + number, _FIRST_CHANGE + number))

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema(
            [
                pa.field(_SOURCE, pa.string()),
                *(pa.field(n, pa.struct(arrow_of(struct))) for n, struct in self._structs.values()),
                *(pa.field(hidden(f.name), f.type) for f in ARROW),
            ]
        )

    def _rows(
        self, script: SourceSteps, number: int, labels: list[int]
    ) -> Iterator[dict[str, Any]]:
        (first, *_) = script.sources.values()
        for envelope in script.move(number, self._plan, labels):
            values = {hidden(name): getattr(envelope, name) for name in NAMES}
            yield {_SOURCE: first.name, **values}
        source, rows = script.rows(number) or (first, [])
        column, struct = self._structs[str(source.schema)]
        with fitting("an element", source.schema, source.name):
            pa.Table.from_pylist(rows, arrow_of(struct))
        yield from ({_SOURCE: source.name, column: row} for row in rows)

    def reader(self, spark: SparkSession) -> Any:
        """What reads a source, as lowering asks for it."""
        steps = spark.readStream.schema(self._types).option("maxFilesPerTrigger", 1)
        frame = steps.parquet(str(self._folder))

        def read(source: Source) -> DataFrame:
            column, struct = self._structs[str(source.schema)]
            own = [col(column).getField(name).alias(name) for name in struct.names]
            envelope = [col(hidden(name)) for name in NAMES]
            return frame.filter(col(_SOURCE) == source.name).select(*own, *envelope)

        return read
