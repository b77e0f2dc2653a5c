"""What an interpreter knows of an operator: rows by port in, rows by tag out, and a watermark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.plan.nodes import Stateful
from millstream.reference.rows import Row

ROWS = "rows"
"""The tag of what an operator emits to the steps after it."""


@dataclass(frozen=True, slots=True)
class Output:
    """What an operator emitted in a step, by tag, and its output watermark after it."""

    rows: Mapping[str, list[Row]]
    watermark: int
    rejected: Sequence[tuple[str, str]] = ()
    """Reasons, and the records that were rejected for them, as text."""


class Operator(Protocol):
    """An operator of a program, with its state."""

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """One step: rows of each port, then the input watermark, then the clock."""
        ...

    def close(self) -> None:
        """Releases what it holds open."""
        ...


Operators = Mapping[type[Stateful], Callable[[Any], Operator]]
"""What makes an operator of a node, by the node's class."""
