"""What the state of a program depends on, as lines that a checkpoint keeps for comparison.

State is kept under the names of sources and operators. Steps without a name are numbered, and other
sinks may change the numbers. Where steps differ only in such numbers, the lines also have the steps
before them: otherwise one could resume with the state of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import Any

from millstream.model.errors import RunError
from millstream.physical.plan import Physical
from millstream.plan.explain.details import aligned, columns, details
from millstream.plan.names import is_automatic, kind_of
from millstream.plan.nodes import KafkaSource, Node, Source, SplitSource, Stateful
from millstream.plan.sql.expressions import is_pyspark_column

OF = "    of     "
"""How a line begins that is only there to distinguish a step from others like it."""
FIELD, TIMER = "    field  ", "    timer  "
"""How lines begin of what a resumed program may have more of."""
BY_CLOCK = "by the clock: triggers, or splits that are idle"
"""The line of a program in which Spark keeps time in all of its state."""
NAMES = ".named('…') for a step, name='…' for a source"


def stateful_plan(plan: Physical) -> list[str]:
    """The lines, in an order that does not depend on that of the sinks."""
    alike = {node for nodes in _alike(plan) for node in nodes}
    lines = []
    for node in _keeping(plan):
        lines += _lines(plan, node, lambda each: each.name)
        if node in alike:
            lines += [f"{OF}{line}" for line in _distinguishing(node)]
    if plan.needs_clock:  # Spark keeps time in all of a query's state, or in none
        lines.append(BY_CLOCK)
    return lines


def can_resume(before: list[str], now: list[str]) -> bool:
    """Whether a program has all that the state in a checkpoint has, and no other state.

    >>> can_resume(["process 'p'", "    field  n BIGINT"], ["process 'p'", "    field  n BIGINT",
    ...            "    field  name STRING"])
    True
    """
    rest = iter(now)
    for line in before:
        for own in rest:
            if own == line:
                break
            if not own.startswith((FIELD, TIMER)):
                return False
        else:
            return False
    return all(own.startswith((FIELD, TIMER)) for own in rest)


def lost_parts(before: list[str], now: list[str]) -> Iterator[str]:
    """What a program has no longer, or has with another type, in words.

    >>> list(lost_parts(["process 'p'", "    field  n BIGINT", "    timer  t by the clock"],
    ...                 ["process 'p'", "    field  n STRING"]))
    ["the field 'n' of process 'p' was BIGINT, and is STRING", "process 'p' has no timer 't' now"]
    """
    old, new = _parts(before), _parts(now)
    for (step, label, name), text in old.items():
        if step in now and new.get((step, label, name), text) != text:
            is_now = new[step, label, name]
            yield f"the {label} {name!r} of {step} was {text}, and is {is_now}"
        elif step in now and (step, label, name) not in new:
            yield f"{step} has no {label} {name!r} now"


def _parts(lines: list[str]) -> dict[tuple[str, str, str], str]:
    found, step = {}, ""
    for line in lines:
        if not line.startswith(" "):
            step = line
        elif line.startswith((FIELD, TIMER)):
            label, name, text = line.split(maxsplit=2)
            found[step, label, name] = text
    return found


def check_distinguishable(plan: Physical) -> None:
    """MS207: no two steps without names differ in nothing but what the lines do not contain."""
    for nodes in _alike(plan):
        for one, other in combinations(nodes, 2):
            alike = list(_distinguishing(one)) == list(_distinguishing(other))
            if alike and not _same(one, other):
                raise RunError(
                    "MS207",
                    f"a checkpoint cannot distinguish {one.name!r} from {other.name!r}: they "
                    "differ in functions, options or rows, of which it keeps nothing",
                    fix=f"give them names: {NAMES}",
                )


def _keeping(plan: Physical) -> list[Source | Stateful]:
    """The steps under whose names something is kept."""
    return [*plan.sources, *sorted(plan.levels, key=lambda operator: operator.name)]


def _lines(plan: Physical, node: Source | Stateful, name: Callable[[Node], str]) -> list[str]:
    if isinstance(node, Source):
        return [_source(node, name(node))]
    origins = {"/".join(map(name, i.origins)) for i in plan.feeding(node)}
    parts = {"field": FIELD, "timer": TIMER}
    return [
        f"{kind_of(node)} {name(node)!r}",
        *(f"    {line}" for line in aligned(node.kept_details)),
        *sorted(f"{parts[label]}{text}" for label, text in node.kept_parts),
        f"    types  {', '.join(node.state_types)}",
        f"    from   {', '.join(sorted(origins))}",
    ]


def _source(source: Source, name: str) -> str:
    """The source as the state knows it: it has a watermark for each split, and of an end."""
    split = source.split if isinstance(source, SplitSource) else None
    if isinstance(source, KafkaSource) and len(source.split_by) > 1:
        split = " and ".join(source.split_by)
    by = "" if split is None else f", split by {split}"
    return f"{kind_of(source)} {name!r}{by}{', which ends' if source.bounded else ''}"


def _alike(plan: Physical) -> list[list[Source | Stateful]]:
    """Steps whose lines differ only in the numbers of their names."""
    found: dict[tuple[str, ...], list[Source | Stateful]] = {}
    for node in _keeping(plan):
        if is_automatic(node):
            found.setdefault(tuple(_lines(plan, node, _unnumbered)), []).append(node)
    return [nodes for nodes in found.values() if len(nodes) > 1]


def _unnumbered(node: Node) -> str:
    return kind_of(node) if is_automatic(node) else node.name


def _distinguishing(node: Node) -> Iterator[str]:
    """What runs in an operator, whose code may change otherwise; and what is behind it."""
    if isinstance(node, Stateful):
        own = [line for line in node.details if line not in node.kept_details]
        yield from (f"runs {text}" for label, text in own if label == "runs")
    yield from _behind(node)


def _behind(node: Node) -> Iterator[str]:
    """What a source reads, and what steps feed an operator; a name is enough for all behind it."""
    if isinstance(node, Source):
        yield _step_text(node)
        yield f"columns {columns(node)}"
    for each in node.inputs:
        if is_automatic(each):
            yield from _behind(each)
            yield _step_text(each)
        else:
            yield f"{kind_of(each)} {each.name!r}"


def _step_text(node: Node) -> str:
    text = "; ".join(f"{label} {text}" for label, text in details(node))
    return f"{kind_of(node)}: {text}"


def _same(one: Any, other: Any) -> bool:
    """Whether two steps do the same, whatever they are called."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        own = [n for n in names if not (n == "name" and isinstance(one, Node))]
        return all(_same(getattr(one, n), getattr(other, n)) for n in own)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return str(one) == str(other) if is_pyspark_column(one) else bool(one == other)
