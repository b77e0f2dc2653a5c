"""What runs the steps of a replay, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from millstream.model.aggregates import Aggregate
from millstream.model.errors import PlanError, did_you_mean
from millstream.model.script import Step
from millstream.model.windowing import Windowing
from millstream.plan.checks.trigger_safety import check_closes_no_open_window
from millstream.plan.checks.window_policy import check_policy
from millstream.plan.nodes import Node, Stateful
from millstream.plan.operators.changes import Changes
from millstream.plan.operators.cogroup import Cogroup
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.process import Process
from millstream.plan.operators.two_sides import TwoSides
from millstream.reference.aggregates import Column
from millstream.reference.groups import Groups, MakeGroups, reference_groups
from millstream.reference.operators import OPERATORS
from millstream.reference.operators.grouping import GroupingOperator
from millstream.reference.operators.operator import Operator, Operators
from millstream.testing.groupings import Summary, replay_grouping
from millstream.testing.panes import Panes, Rows
from millstream.testing.pipelines import checked_program, replay_rows, replay_stream


def _columnar_groups(
    windowing: Windowing, columns: Sequence[Column], takes_retractions: bool
) -> Groups:
    # Importing Polars takes a quarter of a second: it is imported only if it is used.
    from millstream.testing.on_columns import ColumnarGroups

    return ColumnarGroups(windowing, columns, takes_retractions)


def _columnar_changes(node: Changes) -> Operator:
    from millstream.testing.on_columns import ColumnarChanges

    return ColumnarChanges(node)


def _columnar_operator(node: Stateful) -> Operator:
    from millstream.testing.columnar_operator import ColumnarOperator

    return ColumnarOperator(node)


def _columnar_process(node: Process) -> Operator:
    from millstream.testing.columnar_process import ColumnarProcess

    return ColumnarProcess(node)


ENGINES: dict[str, MakeGroups] = {"reference": reference_groups, "columnar": _columnar_groups}
"""The engines that run in this process, one grouping at a time."""


SPARK = "spark"
"""The engine that runs whole programs."""


def run_steps(windowing: Windowing, steps: Sequence[Step], summary: Summary, engine: str) -> Panes:
    """Runs the steps on the engine of that name."""
    check_policy(windowing)
    check_closes_no_open_window(windowing)
    if getattr(summary, "__module__", None) == Aggregate.__module__ and callable(summary):
        name = getattr(summary, "__name__", "sum")
        raise PlanError(
            "MS113",
            f"aggregate={name} makes an aggregate, but is none itself",
            fix=f"call it: aggregate=ms.{name}('value')",
        )
    if not (summary is None or isinstance(summary, Aggregate) or callable(summary)):
        raise PlanError(
            "MS113",
            f"aggregate={summary!r} is no aggregate and no function",
            fix="give an aggregate such as ms.sum('value'), or a function of a list of values",
        )
    if engine == SPARK:
        from millstream.testing.spark_groupings import Script, replay_scripts

        (panes,) = replay_scripts([Script(windowing, steps, summary)])
        return panes
    return replay_grouping(groups_of(engine), windowing, steps, summary)


def run_stream(node: Node, steps: Sequence[Step], engine: str, follows: bool) -> Panes | Rows:
    """Runs the steps through a user's own pipeline: panes of a grouping, or rows of any stream."""
    if engine == SPARK:
        from millstream.testing.on_spark import Program, replay_programs

        (made,) = replay_programs([Program(checked_program(node), steps)], follows)
        replayed: Panes | Rows = made
        return replayed
    run = replay_stream if isinstance(node, Grouping) else replay_rows
    return run(node, steps, operators_of(engine), follows)


def operators_of(engine: str) -> Operators:
    """What makes the operators of a program that runs on an engine."""
    operators: dict[type[Stateful], Callable[[Any], Operator]]
    operators = {**OPERATORS, Grouping: partial(GroupingOperator, make=groups_of(engine))}
    if engine == "reference":
        return operators
    joins = (kind for kind in operators if issubclass(kind, Cogroup | TwoSides))
    columnar: Operators = dict.fromkeys(joins, _columnar_operator)
    return {**operators, **columnar, Changes: _columnar_changes, Process: _columnar_process}


def groups_of(engine: str) -> MakeGroups:
    """What makes the groupings of an engine; an error if there is no such engine."""
    if engine in ENGINES:
        return ENGINES[engine]
    raise PlanError(
        "MS113", f"there is no engine {engine!r}", fix=did_you_mean(str(engine), [*ENGINES, SPARK])
    )
