"""The logical plan as text: a tree, each step above those that feed it."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.explain.details import aligned, columns, details, setting_lines
from millstream.plan.names import kind_of
from millstream.plan.nodes import Node, Sink
from millstream.plan.settings import NOTHING_SET, Settings


def explain_plan(*outputs: Node, settings: Settings = NOTHING_SET) -> str:
    """The plan behind the outputs; ``settings`` are for a grouping that is still to come.

    A step that feeds several others is written out once, where it first appears.
    """
    seen: set[int] = set()
    set_lines = [f"     {line}" for line in aligned(setting_lines(settings))]
    lines = ["for the next grouping", *set_lines] if settings else []
    for output in outputs:
        lines.extend(_tree(output, seen))
    return "\n".join(lines)


def _tree(node: Node, seen: set[int]) -> Iterator[str]:
    title = f"{kind_of(node)} {node.name!r}"
    if id(node) in seen:
        yield f"{title} (see above)"
        return
    seen.add(id(node))
    yield title + _schema(node)
    for line in aligned(details(node)):
        yield f"{'│' if node.inputs else ' '}    {line}"
    for index, each in enumerate(node.inputs):
        last = index == len(node.inputs) - 1
        yield from _branch(_tree(each, seen), last)


def _branch(lines: Iterator[str], last: bool) -> Iterator[str]:
    yield ("└─ " if last else "├─ ") + next(lines)
    for line in lines:
        yield ("   " if last else "│  ") + line


def _schema(node: Node) -> str:
    """The columns, where the step changes them."""
    if isinstance(node, Sink) or any(node.schema == each.schema for each in node.inputs):
        return ""
    return f" → {columns(node)}"
