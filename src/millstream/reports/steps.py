"""The steps of a job: what each has done since the job was started or resumed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millstream.plan.names import kind_of, step_id
from millstream.plan.nodes import Function, Node, Sink, Source, Stateful, walk


@dataclass(frozen=True)
class Step:
    """A step of a program, and which of its rows are counted."""

    id: str
    name: str
    kind: str
    takes: bool
    """Whether the rows that it gets are counted."""
    gives: bool
    """Whether the rows that it emits are counted."""


@dataclass(frozen=True)
class StepProgress:
    """What a step has done, counted from the start of the job or its last resume."""

    id: str
    """Its name; that of a sink follows ``sink:``."""
    kind: str
    """The method that made it, such as ``aggregate``."""
    rows_in: int | None = None
    """Rows that it got; None for steps that Spark computes in the JVM, which are not counted."""
    rows_out: int | None = None
    """Rows that it emitted; None for sinks, and where rows are not counted."""
    watermark: datetime | None = None
    """The watermark of a step with state; None for others."""
    state_rows: int = 0
    """Live panes, and elements that are kept."""
    state_bytes: int = 0
    """Their size, as stored."""
    late: int = 0
    """Rows that were too late for it."""
    rejected: int = 0
    """Rows that it rejected."""
    lost: int = 0
    """Records of a source that were removed before it read them."""
    ahead: int = 0
    """Rows whose time was too far ahead of the clock to move the watermark."""

    callback: str | None = None
    """The callback of a processor that took longest in the last batch."""
    callback_seconds: float = 0.0
    """How long it took there, in all tasks together."""

    def to_dict(self) -> dict[str, Any]:
        """The values as a dict, which can be written as JSON."""
        return {**vars(self), "watermark": self.watermark and self.watermark.isoformat()}


def steps_of(*outputs: Node) -> tuple[Step, ...]:
    """The steps behind the outputs, each after its inputs."""
    return tuple(
        Step(
            id=step_id(node),
            name=node.name,
            kind=kind_of(node),
            takes=isinstance(node, Source | Sink) or _is_counted(node),
            gives=isinstance(node, Source) or _is_counted(node),
        )
        for node in walk(*outputs)
    )


def _is_counted(node: Node) -> bool:
    """Whether Python gets the rows of the step, and counts them."""
    return isinstance(node, Stateful | Function)
