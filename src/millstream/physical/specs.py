"""What workers need to know of a grouping: its settings, without the plan behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.state.shard import sharded
from millstream.model.aggregates import Aggregate
from millstream.model.watermarks import Silence
from millstream.model.windowing import Windowing
from millstream.physical.plan import Physical
from millstream.plan import nodes
from millstream.plan.lineage import taking_back


@dataclass(frozen=True)
class GroupingSpec:
    """A grouping as the engine runs it.

    In the engine a key is called ``key 0``, an aggregate's input ``of 0`` or ``by 0`` and its
    result ``value 0``: users' names may be anything. ``origins`` are those of its watermark.
    """

    name: str
    windowing: Windowing
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate, bool, bool], ...]
    takes_retractions: bool
    keeps_late: bool
    feeds_groupings: bool
    origins: dict[str, Silence]
    splits: dict[str, list[str]] = field(default_factory=dict)
    """The splits of an origin that are known before anything comes from them."""
    followed: frozenset[str] = frozenset()
    """The origins that are sources with a watermark policy."""

    @cached_property
    def engine_keys(self) -> list[str]:
        return [f"key {i}" for i in range(len(self.keys))]

    @cached_property
    def grouping(self) -> Grouping:
        """The grouping, made ready to run."""
        aggregated = [
            Aggregated(
                f"value {i}", aggregate, f"of {i}" if of else None, f"by {i}" if by else None
            )
            for i, (_, aggregate, of, by) in enumerate(self.aggregates)
        ]
        return sharded(
            self.windowing, self.engine_keys, aggregated, self.takes_retractions, self.keeps_late
        )

    def __getstate__(self) -> dict[str, Any]:
        # Compiled expressions stay where they were made.
        return {k: v for k, v in self.__dict__.items() if k not in ("grouping", "engine_keys")}


def spec_of(plan: Physical, node: nodes.Stateful, splits: Mapping[str, list[str]]) -> GroupingSpec:
    """What workers need to know of an operator of a plan; sources may have known ``splits``."""
    if not isinstance(node, nodes.Grouping):
        raise nodes.unknown_kind(node)
    return GroupingSpec(
        name=node.name,
        windowing=node.windowing,
        keys=tuple(name for name, _ in node.keys),
        aggregates=tuple(
            (name, _told(aggregate, inputs), has_input(aggregate, inputs), inputs.by is not None)
            for name, aggregate, inputs in node.aggregates
        ),
        takes_retractions=taking_back(node.input) is not None,
        keeps_late=plan.is_read(node, "late"),
        feeds_groupings=plan.feeds_operators(node),
        origins=plan.origins(node),
        followed=frozenset(i.mark for i in plan.feeding(node) if i.keeper is not None),
        splits={
            i.mark: splits[i.source.name]
            for i in plan.feeding(node)
            if i.keeper is not None and i.source is not None and i.source.name in splits
        },
    )


def _told(aggregate: Aggregate, inputs: nodes.AggregateInputs) -> Aggregate:
    """The aggregate with text in place of PySpark's Columns, which only the driver can have."""
    columns = {"of": inputs.of, "by": inputs.by}
    return replace(
        aggregate, **{n: e.text for n, e in columns.items() if e and e.column is not None}
    )


def has_input(aggregate: Aggregate, inputs: nodes.AggregateInputs) -> bool:
    """Whether the aggregate looks at a value: of an expression, or the whole row."""
    return inputs.of is not None or aggregate.name != "count"


@dataclass(frozen=True)
class InputSpec:
    """How the rows of a step become the input of a grouping.

    ``columns`` maps names of the engine to columns of the rows; ``functions`` are keys that a
    user's function makes, each with its Arrow type; ``row`` are the columns of the whole row, where
    that is needed, and ``kind`` is the one of them that says which rows are retractions.
    """

    columns: dict[str, str]
    functions: dict[str, tuple[nodes.KeyFunction, Any]]
    row: tuple[str, ...]
    step: str
    whole: tuple[str, ...]
    """The engine's columns that are the whole row."""
    kind: str | None = None
