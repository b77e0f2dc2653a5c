"""The temporal join as workers run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.engine.joins.temporal import TemporalJoin
from millstream.physical.operators.two_sides import TwoSidesSpec
from millstream.plan.operators import temporal_join as plan
from millstream.plan.operators.two_sides import TwoSides


@dataclass(frozen=True, kw_only=True)
class TemporalJoinSpec(TwoSidesSpec[TemporalJoin]):
    """A temporal join. In the engine, ``deleted`` marks versions that end the one before."""

    direction: plan.Direction
    grace: int
    tolerance: int | None

    @classmethod
    def settings(cls, node: TwoSides) -> dict[str, Any]:
        assert isinstance(node, plan.TemporalJoin)
        own = {"direction": node.direction, "grace": node.grace, "tolerance": node.tolerance}
        return {**super().settings(node), **own}

    def made(self) -> TemporalJoin:
        return TemporalJoin(self.engine_keys, self.how, self.direction, self.grace, self.tolerance)

    @property
    def holds(self) -> str:
        """Versions, and what waits for them."""
        return "rows until the watermark passes them, versions until they are superseded"
