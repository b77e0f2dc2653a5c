"""What is asked for when a program is run: the arguments of ``run``, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from millstream.jobs.listening import OnBatch
from millstream.plan.nodes import Node

Mode = Literal["streaming", "batch"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A program, and how it is to run. Without a session of the user's own, ``spark`` is None."""

    name: str
    sinks: tuple[Node, ...]
    checkpoint: str | None
    spark: Any
    mode: Mode | None
    every: str | None
    """How long Spark waits between two batches, in its own words."""
    take_over: bool
    restarts: int
    on_batch: OnBatch | None
