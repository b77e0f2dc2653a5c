"""Operators of the reference: one file for each kind, and the table of them all."""

from __future__ import annotations

from millstream.plan import nodes
from millstream.reference.operators.grouping import Grouping
from millstream.reference.operators.operator import Operator, Operators

OPERATORS: Operators = {
    nodes.Grouping: Grouping,
}


def operator_of(node: nodes.Stateful, operators: Operators) -> Operator:
    """The operator that runs a node."""
    if type(node) not in operators:
        raise nodes.unknown_kind(node)
    return operators[type(node)](node)
