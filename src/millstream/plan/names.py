"""Names of steps: readable, given automatically, and unique in a pipeline.

Sinks have names of their own: one may be called as the step before it is, ``collect("counts")``
after ``.named("counts")``. What goes by names keeps the two apart: rows and receipts of sinks here,
state, watermarks and counts of other steps there.

A step is named when it is made, by its kind and a number (``filter-1``), so two branches of a
program may both have a ``filter-1``. Where branches meet in one pipeline the later ones get the
next free number. Names that a user gave are never changed: two alike are refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from typing import Any

from millstream.model.errors import PlanError
from millstream.plan.nodes import (
    Function,
    Node,
    OneInput,
    SideOutput,
    Sink,
    Source,
    Stateful,
    Union,
    unknown_kind,
    walk,
)


def kind_of(node: Node) -> str:
    """What a step is called in the language of the API."""
    match node:
        case Function():
            return node.shape
        case SideOutput():
            return node.tag
        case Sink():
            return node.target.kind
        case Stateful():
            return node.kind
    words = re.findall("[A-Z][a-z]*", type(node).__name__.removesuffix("Source"))
    return "_".join(words).lower()


def step_id(node: Node) -> str:
    """Identifies a step in a program: its name, with a prefix for a sink, which has its own."""
    return f"sink:{node.name}" if isinstance(node, Sink) else node.name


def automatic_name(kind: str, *inputs: Node) -> str:
    """The first free name of that kind after the steps behind ``inputs``."""
    return _free(kind, {node.name for node in walk(*inputs)})


def with_distinct_names(*outputs: Node) -> tuple[Node, ...]:
    """The same graph with the automatic names made unique; shared steps stay shared."""
    taken: dict[bool, set[str]] = {True: set(), False: set()}
    for node in walk(*outputs):
        if not is_automatic(node):
            taken[isinstance(node, Sink)].add(node.name)
    new: dict[int, Node] = {}
    for node in walk(*outputs):
        name, others = node.name, taken[isinstance(node, Sink)]
        if is_automatic(node):
            name = name if name not in others else _free(kind_of(node), others)
            others.add(name)
        new[id(node)] = _rebuilt(node, name, tuple(new[id(each)] for each in node.inputs))
    return tuple(new[id(node)] for node in outputs)


def check_names(*outputs: Node) -> None:
    """MS108: no two steps of one graph have the same name, given by the user, and no two sinks."""
    seen: dict[tuple[bool, str], Node] = {}
    for node in walk(*outputs):
        place = isinstance(node, Sink), node.name
        other = node if is_automatic(node) else seen.setdefault(place, node)
        if other is not node:
            raise name_used_twice(node.name, kind_of(other), kind_of(node))


def name_used_twice(name: str, first: str, second: str) -> PlanError:
    """MS108, for two steps of these kinds."""
    which = f"two {first} steps are" if first == second else f"a {first} and a {second} step are"
    return PlanError(
        "MS108",
        f"{which} both called {name!r}",
        fix="give one another name: .named('…') for a step, name='…' for a source or sink",
        step=name,
    )


def checked_name(name: Any) -> str:
    """A name, if it is one."""
    if isinstance(name, str) and name.strip():
        return name
    raise PlanError("MS113", f"{name!r} is no name", fix="give a text such as 'totals'")


def checked_job_name(name: Any) -> str:
    """The name of a job, which is also that of a folder."""
    text = checked_name(name)
    if text in (".", "..") or not text.isprintable() or any(c in text for c in "/\\"):
        raise PlanError(
            "MS113",
            f"{name!r} cannot be the name of a job, which is also that of its folder",
            fix="give a name without /, \\ and control characters, such as 'team-scores'",
        )
    return text


def is_automatic(node: Node) -> bool:
    """Whether nobody has named the step: its number may be another one in another program."""
    return re.fullmatch(rf"{kind_of(node)}-\d+", node.name) is not None


def _free(kind: str, taken: set[str]) -> str:
    return next(name for n in count(1) if (name := f"{kind}-{n}") not in taken)


def _rebuilt(node: Node, name: str, inputs: tuple[Node, ...]) -> Node:
    if name == node.name and all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return node
    match node:
        case OneInput():
            return replace(node, name=name, input=inputs[0])
        case Stateful():
            fed = zip(node.ports, inputs, strict=True)
            return replace(node, name=name, ports=tuple(replace(p, input=i) for p, i in fed))
        case Union():
            return replace(node, name=name, parts=inputs)
        case Source():
            return replace(node, name=name)
    raise unknown_kind(node)
