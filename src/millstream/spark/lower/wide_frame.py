"""A wide frame: a DataFrame that holds the rows of several steps side by side.

A filter only makes a flag, and new columns are added beside the old ones. So branches of a program
share what they have in common, and no row is read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import count
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them
from pyspark.sql.types import StructType

from millstream.physical.plan import Instance
from millstream.spark.columns import col
from millstream.spark.sources.kafka_frame import TopicFrame
from millstream.spark.worker.step_columns import StepColumns


class WideFrame:
    """A DataFrame, and what each of its columns is for.

    - ``steps``: for each step whose rows it holds, those that its ``StepColumns`` name;
    - ``carried``: columns that belong to no step. After a shuffle or a Python stage these are the
      columns of envelopes, null in the rows of steps; of a source with splits, the split;
    - ``rejected``: for a step that rejects rows in the JVM, the reason and the record as one text;
    - ``untimed``: for a step that rejects rows nothing reads, the event time, null if rejected;
    - ``units``: for a step with times of another unit than seconds, these times;
    - ``marks``: for a step that a watermark follows, the times that move it.

    Names that begin with ``__millstream_`` are never those of a user's columns.
    """

    _numbers = count()

    def __init__(
        self, frame: DataFrame | TopicFrame, steps: dict[Instance, StepColumns], carried: list[str]
    ) -> None:
        self.read = frame
        self.steps = steps
        self.carried = carried
        self.rejected: dict[Instance, str] = {}
        self.untimed: dict[Instance, str] = {}
        self.units: dict[Instance, str] = {}
        self.marks: dict[Instance, str] = {}

    @property
    def frame(self) -> DataFrame:
        """The DataFrame; records of Kafka enter the JVM only if a step is to run there."""
        if isinstance(self.read, TopicFrame):
            self.read = self.read.loaded()
        return self.read

    @frame.setter
    def frame(self, frame: DataFrame) -> None:
        self.read = frame

    def new_name(self) -> str:
        """A name that no column has."""
        return f"__millstream_{next(self._numbers)}"

    def types(self, instance: Instance) -> StructType:
        """The types of a step's rows."""
        schema = self.read.schema
        struct = StructType()
        for name, column in self.steps[instance].columns.items():
            struct = struct.add(name, schema[column].dataType)
        return struct

    def keep(self, instances: Iterable[Instance]) -> None:
        """Drops all columns and rows that none of these steps needs."""
        steps = {i: self.steps[i] for i in instances}
        others = [*self.rejected.values(), *self.untimed.values(), *self.units.values()]
        others += self.marks.values()
        names = [*(n for step in steps.values() for n in step.names()), *others, *self.carried]
        rows = [has_row(step) for step in steps.values()]
        self.steps = steps
        if isinstance(self.read, TopicFrame):
            self.read = self.read.only(names)
            return
        needed = [here for here in rows if here is not None]
        if steps and len(needed) == len(rows) and not self.marks and not self.untimed:
            needed += [F.col(name).isNotNull() for name in self.rejected.values()]
            needed += [F.col("kind").isNotNull()] if "kind" in self.carried else []
            self.frame = self.frame.filter(reduce(or_, needed))
        # Spark hands on no rows without columns, and they are counted.
        kept = [col(name) for name in dict.fromkeys(names)]
        self.frame = self.frame.select(*(kept or [F.lit(True).alias(self.new_name())]))

    def add(self, step: StepColumns, columns: Mapping[str, Column]) -> None:
        """Adds columns that expressions over the step's own names make, where it has rows."""
        made = [where_row(step, each).alias(name) for name, each in columns.items()]
        self.with_own_names(step, lambda frame: frame.select("*", *made))

    def with_own_names(self, step: StepColumns, run: Callable[[DataFrame], DataFrame]) -> None:
        """Runs something while the step's columns have their own names, as expressions use them.

        A column that has such a name already, like an envelope's ``kind``, is renamed meanwhile.
        The many other columns are not named: each name is a call into Java.
        """
        taken = {name.lower() for name in step.columns}
        aside = {n: self.new_name() for n in self.frame.columns if n.lower() in taken}
        own = [col(column).alias(name) for name, column in step.columns.items()]
        frame = run(self.frame.withColumnsRenamed(aside).select("*", *own))
        back = {other: name for name, other in aside.items()}
        self.frame = frame.drop(*step.columns).withColumnsRenamed(back)


def has_row(step: StepColumns) -> Column | None:
    """Where the step has a row; None: everywhere."""
    if step.flag is not None:
        return col(step.flag)
    return None if step.time is None else col(step.time).isNotNull()


def where_row(step: StepColumns, column: Column) -> Column:
    """The column where the step has a row; elsewhere nothing is computed, which might fail."""
    here = has_row(step)
    return column if here is None else F.when(here, column)
