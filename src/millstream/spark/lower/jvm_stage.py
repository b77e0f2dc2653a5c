"""What runs in the JVM: SQL over the rows of several steps at once.

The rows of all steps travel in one DataFrame, side by side. A step's **port** says which columns
hold its rows, and which flag is true where there is one. A filter only makes a flag, new columns
stand beside the old ones: so branches share what they have in common, and no row is read twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import count
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them
from pyspark.sql.types import (
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StructType,
)

from millstream.model.instants import FIRST, LAST
from millstream.model.watermarks import Punctuated
from millstream.physical.plan import Instance, column_of
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import (
    EventTime,
    Filter,
    Grouping,
    Node,
    Select,
    SqlStep,
    WithColumns,
    unknown_kind,
)
from millstream.plan.sql.expressions import Expression
from millstream.plan.sql.failures import sql_of, sql_reason
from millstream.plan.types.schema import hidden
from millstream.reference.rows import UNITS, why_no_time
from millstream.spark.lower.sql_listing import Listing
from millstream.spark.worker.step_columns import StepColumns

JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""How a record is shown that was rejected."""


def rows_in(step: StepColumns) -> Column | None:
    """Where the step has a row; None: everywhere."""
    if step.flag is not None:
        return col(step.flag)
    return None if step.time is None else col(step.time).isNotNull()


class Wide:
    """A DataFrame with the rows of several steps, and what else travels along."""

    _numbers = count()

    def __init__(
        self,
        frame: DataFrame,
        ports: dict[Instance, StepColumns],
        carried: list[str],
        listing: Listing,
        followed: Collection[Instance] = (),
    ) -> None:
        self.listing = listing
        self.followed = followed
        self.frame = frame
        self.ports = ports
        self.carried = carried
        self.rejected: dict[Instance, str] = {}
        self.untimed: dict[Instance, str] = {}
        self.marks: dict[Instance, str] = {}

    def run(self, instance: Instance, whole: bool = False) -> None:
        """Runs a step over the rows of its input; of a grouping's, the ``whole`` may be needed."""
        assert instance.input is not None
        port, node = self.ports[instance.input], instance.node
        if instance.role == "prepare":
            assert isinstance(node, Grouping)
            self.ports[instance] = self._prepared(port, node, whole)
        elif isinstance(node, EventTime):
            self.ports[instance] = self._timed(port, node, instance)
        elif isinstance(node, Filter):
            self.ports[instance] = self._filtered(port, node, instance)
        elif isinstance(node, Select | WithColumns):
            port = self._without_failures(port, node, instance)
            made = self._computed(port, dict(node.columns), node)
            kept = port.columns if isinstance(node, WithColumns) else {}
            self.ports[instance] = replace(port, columns=_in_order(node, {**kept, **made}))
        else:
            raise unknown_kind(node)

    def keep(self, instances: Iterable[Instance]) -> None:
        """Drops all columns and rows that none of these steps needs."""
        ports = {i: self.ports[i] for i in instances}
        rejected = self.rejected
        names = [n for port in ports.values() for n in port.names()]
        names += [*rejected.values(), *self.untimed.values(), *self.marks.values(), *self.carried]
        rows = [rows_in(port) for port in ports.values()]
        wanted = [here for here in rows if here is not None]
        if ports and len(wanted) == len(rows) and not self.marks and not self.untimed:
            wanted += [F.col(name).isNotNull() for name in rejected.values()]
            wanted += [F.col("kind").isNotNull()] if "kind" in self.carried else []
            self.frame = self.frame.filter(reduce(or_, wanted))
        # Spark hands on no rows without columns, and they are counted.
        kept = [col(name) for name in dict.fromkeys(names)] or [F.lit(True).alias(self._new())]
        self.frame = self.frame.select(*kept)
        self.ports = ports

    def types(self, port: StepColumns) -> StructType:
        """The types of a port's rows."""
        schema = self.frame.schema
        struct = StructType()
        for name, column in port.columns.items():
            struct = struct.add(name, schema[column].dataType)
        return struct

    def _new(self) -> str:
        return f"__millstream_{next(self._numbers)}"

    def _computed(
        self, port: StepColumns, columns: Mapping[str, Expression], node: SqlStep | Grouping
    ) -> dict[str, str]:
        """New columns beside the old ones, computed where the port has rows.

        What is a column already stays where it is: Spark plans all of this again in each batch.
        """
        plain = {name: column_of(e, node.input) for name, e in columns.items()}
        named = {n: self._new() if c is None else port.columns[c] for n, c in plain.items()}
        new = {named[n]: self.listing.column(node, n) for n in columns if plain[n] is None}
        if new:
            self._added(port, new)
        return named

    def _added(self, port: StepColumns, columns: Mapping[str, Column]) -> None:
        """Columns that expressions in the port's own names make."""
        made = [_where(port, each).alias(name) for name, each in columns.items()]
        self._with_own_names(port, lambda frame: frame.select("*", *made))

    def _with_own_names(self, port: StepColumns, run: Callable[[DataFrame], DataFrame]) -> None:
        """Runs something where the port's columns have their own names, as expressions know them.

        What stands under such a name already, like an envelope's ``kind``, steps aside meanwhile.
        The many other columns are not named: each name is a call into Java.
        """
        taken = {name.lower() for name in port.columns}
        aside = {n: self._new() for n in self.frame.columns if n.lower() in taken}
        own = [col(column).alias(name) for name, column in port.columns.items()]
        frame = run(self.frame.withColumnsRenamed(aside).select("*", *own))
        back = {other: name for name, other in aside.items()}
        self.frame = frame.drop(*port.columns).withColumnsRenamed(back)

    def _filtered(self, port: StepColumns, node: Filter, instance: Instance) -> StepColumns:
        alone = len(self.ports) == 1 and not self.carried and not self.marks
        branches = instance.input is not None and len(instance.input.consumers) > 1
        condition = self.listing.column(node, "condition")
        port = self._without_failures(port, node, instance)
        if alone and not branches and rows_in(port) is None and not self.rejected:
            self._with_own_names(port, lambda frame: frame.filter(condition))
            return port
        flag = self._new()
        self._added(port, {flag: condition})
        self.frame = self.frame.withColumn(flag, F.coalesce(col(flag), F.lit(False)))
        return replace(port, flag=flag)

    def _without_failures(
        self, port: StepColumns, node: SqlStep, instance: Instance
    ) -> StepColumns:
        """Where the step's expressions can be computed; the other rows are rejected, or dropped."""
        sqls = [sql for sql in sql_of(node) if column_of(sql.expression, node.input) is None]
        if node.on_error == "fail" or not sqls:
            return port
        works = {self._new(): sql for sql in sqls}
        tried = {name: _works(self.listing.column(node, sql.name)) for name, sql in works.items()}
        self._added(port, tried)
        flag, rejected = self._new(), self._new()
        here = rows_in(port)
        here = F.lit(True) if here is None else here
        fine = reduce(and_, map(col, works))
        self.frame = self.frame.withColumn(flag, here & fine)
        if node.on_error == "reject":
            reasons = (F.when(~col(n), F.lit(sql_reason(sql))) for n, sql in works.items())
            refusal = F.concat(
                F.coalesce(*reasons), F.lit("\n"), F.to_json(_whole(port), JSON_OPTIONS)
            )
            self.frame = self.frame.withColumn(rejected, F.when(here & ~fine, refusal))
            self.rejected[instance] = rejected
        return replace(port, flag=flag)

    def _timed(self, port: StepColumns, node: EventTime, instance: Instance) -> StepColumns:
        time, rejected, flag = self._new(), self._new(), self._new()
        schema = self.frame.schema
        column = port.columns[node.column]
        micros = _micros(col(column), schema[column].dataType)
        self.frame = self.frame.withColumn(time, _where(port, micros))
        none, made = col(time).isNull(), {}
        here = rows_in(port)
        if here is not None:
            none = none & here
            made = {flag: here & col(time).isNotNull()}
        unread = not any(c.role == "rejected" for c in instance.consumers)
        numeric = isinstance(schema[column].dataType, NumericType)
        if here is None and unread and not numeric:
            # Nobody reads what is rejected: rows without a time tell how many there are. But of
            # numbers, the log says whether they look like another unit than seconds.
            self.untimed[instance] = time
        else:
            refusal = _refusal(node.column, col(column), schema[column].dataType, port)
            self.rejected[instance] = rejected
            made[rejected] = F.when(none, refusal)
        self.frame = self.frame.withColumns(made) if made else self.frame
        if instance in self.followed:
            self.marks[instance] = self._mark(port, node, time)
        return replace(port, time=time, flag=flag if flag in made else None)

    def _mark(self, port: StepColumns, node: EventTime, time: str) -> str:
        """The column that the watermark follows."""
        if not isinstance(node.watermark, Punctuated):
            return time
        name = self._new()
        column = port.columns[node.watermark.column]
        kind = self.frame.schema[column].dataType
        self.frame = self.frame.withColumn(name, _where(port, _micros(col(column), kind)))
        return name

    def _prepared(self, port: StepColumns, node: Grouping, whole: bool) -> StepColumns:
        kind, alike = kind_column(node.input), port
        if kind is not None and port.sign is not None:
            plus = self._new()  # a retraction must equal the row that it takes back
            given = col(port.columns[kind])
            as_added = F.when(col(port.sign) < 0, F.lit("+")).otherwise(given)
            self.frame = self.frame.withColumn(plus, as_added)
            alike = replace(port, columns={**port.columns, kind: plus})
        computed = self._computed(alike, prepared_columns(node), node)
        made = {hidden(name): column for name, column in computed.items()}
        return replace(port, columns={**port.columns, **made} if whole else made)


def _refusal(name: str, column: Column, kind: DataType, port: StepColumns) -> Column:
    """Why a row has no event time, and in a new line the row."""
    why = F.when(column.isNull(), F.lit(why_no_time(None)))
    if isinstance(kind, DoubleType | FloatType):
        infinite = F.isnan(column) | (F.abs(column) == float("inf"))
        why = why.when(infinite, F.lit(why_no_time(math.inf)))
    if isinstance(kind, NumericType):
        for unit in UNITS:
            first, last = unit.first, unit.last
            why = why.when(
                column.cast("double").between(float(first), float(last)),
                F.lit(why_no_time(first)),
            )
    why = why.otherwise(F.lit(why_no_time(LAST)))
    record = F.to_json(_whole(port), JSON_OPTIONS)
    return F.concat(F.lit(f"event time {name!r}: "), why, F.lit("\n"), record)


def _whole(port: StepColumns) -> Column:
    return F.struct(*(col(c).alias(n) for n, c in port.columns.items()))


def _works(column: Column) -> Column:
    """Whether Spark can compute a column of a row.

    Spark has no function for that. But ``try_to_binary`` gives null wherever its argument fails,
    and an array has one element whatever that is. Were it always computed, Spark might compute
    what occurs twice in it before; that which follows a condition it does not.
    """
    size = F.size(F.array(column)).cast("string")
    tried = F.try_to_binary(size, F.lit("utf-8"))
    return F.when(F.spark_partition_id() >= 0, tried).isNotNull()


def prepared_columns(node: Grouping) -> dict[str, Expression]:
    """What a grouping computes of each row, by the names that it has in the engine."""
    return {sql.name: sql.expression for sql in sql_of(node)}


def _in_order(node: Node, columns: Mapping[str, str]) -> dict[str, str]:
    """The columns under the names, and in the order, of the step's schema."""
    return {name: columns[name] for name in node.schema.names}


def _where(port: StepColumns, column: Column) -> Column:
    """The column where the port has a row; elsewhere nothing may be computed, which might fail."""
    here = rows_in(port)
    return column if here is None else F.when(here, column)


def col(name: str) -> Column:
    """The column of that name, whatever is in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def _micros(column: Column, kind: DataType) -> Column:
    """An instant in microseconds; null if it is none, or outside of the years 1 to 9999."""
    if isinstance(kind, IntegralType):
        seconds = column.cast("bigint")
        inside = seconds.between(FIRST // 1_000_000, LAST // 1_000_000)
        return F.when(inside, seconds * 1_000_000)
    if isinstance(kind, NumericType):
        seconds = column.cast("double")
        micros = F.rint(seconds * 1_000_000)
        inside = micros.between(float(FIRST), float(LAST)) & ~F.isnan(seconds)
        return F.when(inside, micros.cast("bigint"))
    micros = F.unix_micros(column.cast("timestamp"))
    return F.when(micros.between(FIRST, LAST), micros)
