"""Operators of the reference: one file for each kind, and the table of them all."""

from __future__ import annotations

from millstream.plan.nodes import Stateful, unknown_kind
from millstream.plan.operators.changes import Changes
from millstream.plan.operators.cogroup import Cogroup, WindowJoin
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.plan.operators.process import Process
from millstream.plan.operators.regular_join import RegularJoin
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.reference.operators.changes import ChangesOperator
from millstream.reference.operators.cogroup import CogroupOperator, WindowJoinOperator
from millstream.reference.operators.grouping import GroupingOperator
from millstream.reference.operators.interval_join import IntervalJoinOperator
from millstream.reference.operators.operator import Operator, Operators
from millstream.reference.operators.process import ProcessOperator
from millstream.reference.operators.regular_join import RegularJoinOperator
from millstream.reference.operators.temporal_join import TemporalJoinOperator

OPERATORS: Operators = {
    Changes: ChangesOperator,
    Cogroup: CogroupOperator,
    Grouping: GroupingOperator,
    IntervalJoin: IntervalJoinOperator,
    Process: ProcessOperator,
    RegularJoin: RegularJoinOperator,
    TemporalJoin: TemporalJoinOperator,
    WindowJoin: WindowJoinOperator,
}


def operator_of(node: Stateful, operators: Operators) -> Operator:
    """The operator that runs a node."""
    if type(node) not in operators:
        raise unknown_kind(node)
    return operators[type(node)](node)
