"""Operators of the reference: one file for each kind, and the table of them all."""

from __future__ import annotations

from millstream.plan.nodes import Stateful, unknown_kind
from millstream.plan.operators.changes import Changes
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.process import Process
from millstream.reference.operators.changes import ChangesOperator
from millstream.reference.operators.grouping import GroupingOperator
from millstream.reference.operators.operator import Operator, Operators
from millstream.reference.operators.process import ProcessOperator

OPERATORS: Operators = {
    Changes: ChangesOperator,
    Grouping: GroupingOperator,
    Process: ProcessOperator,
}


def operator_of(node: Stateful, operators: Operators) -> Operator:
    """The operator that runs a node."""
    if type(node) not in operators:
        raise unknown_kind(node)
    return operators[type(node)](node)
