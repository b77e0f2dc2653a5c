"""What runs the steps of a replay, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from millstream.model.aggregates import Aggregate
from millstream.model.errors import PlanError, did_you_mean
from millstream.model.panes import LateElement, Pane
from millstream.model.windowing import Windowing
from millstream.plan.checks.trigger_safety import check_closes_no_open_window
from millstream.testing.on_reference import replay_on_reference
from millstream.testing.panes import Panes
from millstream.testing.steps import Step

Summary = Aggregate | Callable[[list[Any]], Any] | None
"""What a pane's ``values`` are: an aggregate's value, a function's of the values, or they all."""


class Engine(Protocol):
    """Runs steps through a grouping: gives its panes and its late elements."""

    def __call__(
        self, windowing: Windowing, steps: Sequence[Step], summary: Summary
    ) -> tuple[list[Pane], list[LateElement]]: ...


ENGINES: dict[str, Engine] = {"reference": replay_on_reference}


def run_steps(windowing: Windowing, steps: Sequence[Step], summary: Summary, engine: str) -> Panes:
    """Runs the steps on the engine of that name."""
    check_closes_no_open_window(windowing)
    if not (summary is None or isinstance(summary, Aggregate) or callable(summary)):
        raise PlanError(
            "MS113",
            f"aggregate={summary!r} is no aggregate and no function",
            fix="give ms.sum('value'), say, or a function of a list of values",
        )
    return Panes(*ENGINES[checked_engine(engine)](windowing, steps, summary))


def checked_engine(name: str) -> str:
    """The name, refused if no engine has it."""
    if name in ENGINES:
        return name
    raise PlanError("MS113", f"there is no engine {name!r}", fix=did_you_mean(name, ENGINES))
