"""What workers need to know of operators: one file for each kind, and the table of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.physical.operators.changes import ChangesSpec
from millstream.physical.operators.cogroup import CogroupSpec, WindowJoinSpec
from millstream.physical.operators.grouping import GroupingSpec
from millstream.physical.operators.interval_join import IntervalJoinSpec
from millstream.physical.operators.process import ProcessSpec
from millstream.physical.operators.regular_join import RegularJoinSpec
from millstream.physical.operators.spec import OperatorSpec, PortTypes
from millstream.physical.operators.temporal_join import TemporalJoinSpec
from millstream.physical.plan import Physical
from millstream.plan.nodes import Stateful, unknown_kind
from millstream.plan.operators.changes import Changes
from millstream.plan.operators.cogroup import Cogroup, WindowJoin
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.plan.operators.process import Process
from millstream.plan.operators.regular_join import RegularJoin
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.types.schema import Schema

SPECS: dict[type[Stateful], type[OperatorSpec[Any]]] = {
    Grouping: GroupingSpec,
    Changes: ChangesSpec,
    Process: ProcessSpec,
    Cogroup: CogroupSpec,
    WindowJoin: WindowJoinSpec,
    IntervalJoin: IntervalJoinSpec,
    TemporalJoin: TemporalJoinSpec,
    RegularJoin: RegularJoinSpec,
}


def kind_of(node: Stateful) -> type[OperatorSpec[Any]]:
    """The kind of spec that an operator has."""
    kind = SPECS.get(type(node))
    if kind is None:
        raise unknown_kind(node)
    return kind


def output_schema(node: Stateful, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
    """The columns of what an operator emits under a tag, all with their types."""
    return kind_of(node).output_schema(node, tag, ports)


def spec_of(plan: Physical, node: Stateful, splits: Mapping[str, list[str]]) -> OperatorSpec[Any]:
    """What workers need to know of an operator of a plan; sources may have known ``splits``."""
    kind = kind_of(node)
    feeding = plan.feeding(node)
    return kind(
        name=node.name,
        keys={port.name: tuple(name for name, _ in port.keys) for port in node.ports},
        tags=frozenset(tag for tag in node.tags if plan.is_read(node, tag)),
        feeds_operators=plan.feeds_operators(node),
        reads_clock=node.reads_clock,
        origins=plan.origins(node),
        followed=frozenset(i.mark for i in feeding if i.keeper is not None),
        splits={
            i.mark: splits[i.source.name]
            for i in feeding
            if i.keeper is not None and i.source is not None and i.source.name in splits
        },
        **kind.settings(node),
    )
