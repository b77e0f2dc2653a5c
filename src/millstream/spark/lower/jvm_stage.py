"""A JVM stage: the steps that Spark SQL computes, in one wide frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them
from pyspark.sql.types import NumericType

from millstream.model.errors import in_step
from millstream.model.watermarks import Punctuated
from millstream.physical.plan import Instance, column_of
from millstream.plan.checks.event_time import checked_unit
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import (
    EventTime,
    Filter,
    Port,
    Select,
    SqlStep,
    Stateful,
    WithColumns,
    unknown_kind,
)
from millstream.plan.sql.expressions import Expression
from millstream.plan.sql.failures import sql_of, sql_reason
from millstream.plan.types.schema import hidden
from millstream.spark.columns import col, reject_text
from millstream.spark.lower.event_times import micros, why_none
from millstream.spark.lower.operators import prepared_columns
from millstream.spark.lower.sql_listing import Listing
from millstream.spark.lower.wide_frame import WideFrame, has_row, where_row
from millstream.spark.worker.step_columns import StepColumns


class JvmStage:
    """Runs steps in a wide frame. Watermarks follow the event times of those in ``followed``."""

    def __init__(
        self, wide: WideFrame, listing: Listing, followed: Collection[Instance] = ()
    ) -> None:
        self._wide = wide
        self._listing = listing
        self._followed = followed

    def run(self, instance: Instance, whole: bool = False) -> None:
        """Runs a step; of an operator's input, the ``whole`` rows may be needed."""
        assert instance.input is not None
        self._wide.steps[instance] = self._made(self._wide.steps[instance.input], instance, whole)

    def _made(self, input: StepColumns, instance: Instance, whole: bool) -> StepColumns:
        """The columns of a step's rows, made of those of its input."""
        match instance.node:
            case Stateful() as node:
                assert instance.port is not None
                return self._prepared(input, node, instance.port, whole)
            case EventTime() as node:
                return self._timed(input, node, instance)
            case Filter() as node:
                return self._filtered(input, node, instance)
            case Select() | WithColumns() as node:
                return self._selected(input, node, instance)
            case node:
                raise unknown_kind(node)

    def _selected(
        self, input: StepColumns, node: Select | WithColumns, instance: Instance
    ) -> StepColumns:
        input = self._without_failures(input, node, instance)
        columns = self._computed(input, dict(node.columns), node)
        if isinstance(node, WithColumns):
            columns = {**input.columns, **columns}
        return replace(input, columns={name: columns[name] for name in node.schema.names})

    def _computed(
        self,
        input: StepColumns,
        columns: Mapping[str, Expression],
        node: SqlStep | Stateful,
        port: Port | None = None,
    ) -> dict[str, str]:
        """New columns beside the old ones, computed where the input has rows.

        An expression that is only a column keeps that: Spark plans all of this in each batch.
        """
        (before,) = node.inputs if port is None else (port.input,)
        plain = {name: column_of(e, before) for name, e in columns.items()}
        named = {
            name: self._wide.new_name() if column is None else input.columns[column]
            for name, column in plain.items()
        }
        at = "" if port is None else port.name
        new = {named[n]: self._listing.column(node, n, at) for n in columns if plain[n] is None}
        if new:
            self._wide.add(input, new)
        return named

    def _filtered(self, input: StepColumns, node: Filter, instance: Instance) -> StepColumns:
        wide = self._wide
        alone = len(wide.steps) == 1 and not wide.carried and not wide.marks
        branches = instance.input is not None and len(instance.input.consumers) > 1
        condition = self._listing.column(node, "condition")
        input = self._without_failures(input, node, instance)
        if alone and not branches and has_row(input) is None and not wide.rejected:
            wide.with_own_names(input, lambda frame: frame.filter(condition))
            return input
        flag = wide.new_name()
        wide.add(input, {flag: condition})
        wide.frame = wide.frame.withColumn(flag, F.coalesce(col(flag), F.lit(False)))
        return replace(input, flag=flag)

    def _without_failures(
        self, input: StepColumns, node: SqlStep, instance: Instance
    ) -> StepColumns:
        """Where the step's expressions can be computed; the other rows are rejected, or dropped."""
        wide = self._wide
        sqls = [sql for sql in sql_of(node) if column_of(sql.expression, node.input) is None]
        if node.on_error == "fail" or not sqls:
            return input
        works = {wide.new_name(): sql for sql in sqls}
        tried = {name: _works(self._listing.column(node, sql.name)) for name, sql in works.items()}
        wide.add(input, tried)
        flag, rejected = wide.new_name(), wide.new_name()
        here = has_row(input)
        here = F.lit(True) if here is None else here
        fine = reduce(and_, map(col, works))
        wide.frame = wide.frame.withColumn(flag, here & fine)
        if node.on_error == "reject":
            reasons = (F.when(~col(n), F.lit(sql_reason(sql))) for n, sql in works.items())
            reject = _reject(F.coalesce(*reasons), input)
            wide.frame = wide.frame.withColumn(rejected, F.when(here & ~fine, reject))
            wide.rejected[instance] = rejected
        return replace(input, flag=flag)

    def _timed(self, input: StepColumns, node: EventTime, instance: Instance) -> StepColumns:
        wide = self._wide
        time, rejected, flag = wide.new_name(), wide.new_name(), wide.new_name()
        column = input.columns[node.column]
        kind = wide.frame.schema[column].dataType
        if node.unit != "s":  # what the plan knows no type of has one here
            with in_step(node.name):
                checked_unit(node.unit, node.column, kind.simpleString().upper())
            wide.units[instance] = time
        instants = micros(col(column), kind, node.unit)
        wide.frame = wide.frame.withColumn(time, where_row(input, instants))
        none, made = col(time).isNull(), {}
        here = has_row(input)
        if here is not None:
            none = none & here
            made = {flag: here & col(time).isNotNull()}
        unread = not any(c.role == "rejected" for c in instance.consumers)
        if here is None and unread and not isinstance(kind, NumericType):
            # Nothing reads what is rejected: the rows without a time are only counted. But of
            # numbers, the log reports whether they look like another unit.
            wide.untimed[instance] = time
        else:
            wide.rejected[instance] = rejected
            why = why_none(node.column, col(column), kind, node.unit)
            made[rejected] = F.when(none, _reject(why, input))
        wide.frame = wide.frame.withColumns(made) if made else wide.frame
        if instance in self._followed:
            wide.marks[instance] = self._mark(input, node, time)
        return replace(input, time=time, flag=flag if flag in made else None)

    def _mark(self, input: StepColumns, node: EventTime, time: str) -> str:
        """The column that the watermark follows."""
        if not isinstance(node.watermark, Punctuated):
            return time
        wide, name = self._wide, self._wide.new_name()
        column = input.columns[node.watermark.column]
        instants = micros(col(column), wide.frame.schema[column].dataType, node.unit)
        wide.frame = wide.frame.withColumn(name, where_row(input, instants))
        return name

    def _prepared(self, input: StepColumns, node: Stateful, port: Port, whole: bool) -> StepColumns:
        """What an operator computes of each row, and the whole rows if it needs them."""
        wide = self._wide
        kind, added = kind_column(port.input), input
        if kind is not None and input.sign is not None:
            plus = wide.new_name()  # a retraction must equal the row that it takes back
            given = col(input.columns[kind])
            as_added = F.when(col(input.sign) < 0, F.lit("+")).otherwise(given)
            wide.frame = wide.frame.withColumn(plus, as_added)
            added = replace(input, columns={**input.columns, kind: plus})
        computed = self._computed(added, prepared_columns(node, port), node, port)
        made = {hidden(name): column for name, column in computed.items()}
        return replace(input, columns={**input.columns, **made} if whole else made)


def _reject(why: Column, input: StepColumns) -> Column:
    return reject_text(why, (col(c).alias(n) for n, c in input.columns.items()))


def _works(column: Column) -> Column:
    """Whether Spark can compute a column of a row.

    Spark has no function for that. But ``try_to_binary`` gives null wherever its argument fails,
    and an array has one element whatever that is. Were it always computed, Spark might compute
    what occurs twice in it before; that which follows a condition it does not.
    """
    size = F.size(F.array(column)).cast("string")
    tried = F.try_to_binary(size, F.lit("utf-8"))
    return F.when(F.spark_partition_id() >= 0, tried).isNotNull()
