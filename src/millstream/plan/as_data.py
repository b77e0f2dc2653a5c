"""The logical plan as data: dicts and lists that can be written as JSON."""

from __future__ import annotations

from typing import Any

from millstream.plan.explain.details import details
from millstream.plan.names import kind_of, step_id
from millstream.plan.nodes import Node, walk


def plan_as_data(*outputs: Node) -> dict[str, Any]:
    """Every step behind the outputs, each after its inputs.

    Values of options may be secret, so that only their names are in it.
    """
    return {"steps": [_step(node) for node in walk(*outputs)]}


def _step(node: Node) -> dict[str, Any]:
    return {
        "id": step_id(node),
        "name": node.name,
        "kind": kind_of(node),
        "inputs": [step_id(each) for each in node.inputs],
        "columns": {field.name: field.type for field in node.schema},
        "details": [{"label": label, "text": text} for label, text in details(node)],
    }
