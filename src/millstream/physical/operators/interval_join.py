"""An interval join as workers run it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from millstream.engine.joins.interval import IntervalJoin
from millstream.engine.joins.pair_condition import PairCondition
from millstream.engine.operator import LATE
from millstream.physical.operators.two_sides import TwoSidesSpec, pair_condition
from millstream.plan.operators import interval_join as plan
from millstream.plan.operators.two_sides import ONE_SIDED, RIGHT, TwoSides


@dataclass(frozen=True, kw_only=True)
class IntervalJoinSpec(TwoSidesSpec[IntervalJoin]):
    """An interval join."""

    sides: tuple[plan.Side, plan.Side]
    at_once: bool
    spread: int
    condition: PairCondition | None

    @classmethod
    def settings(cls, node: TwoSides) -> dict[str, Any]:
        assert isinstance(node, plan.IntervalJoin)
        return {
            **super().settings(node),
            "sides": node.sides,
            "at_once": node.at_once,
            "spread": node.spread,
            "condition": pair_condition(node, node.where),
        }

    @classmethod
    def whole(cls, node: TwoSides, port: str, tags: Container[str]) -> tuple[str, ...]:
        assert isinstance(node, plan.IntervalJoin)
        side = node.sides[port == RIGHT]
        is_read = node.emits_pairs or node.where is not None or LATE in tags
        whole = is_read or side.alone is not None or side.retracted
        return super().whole(node, port, tags) if whole else ()

    def made(self) -> IntervalJoin:
        return IntervalJoin(
            self.sides,
            self.engine_keys,
            pairs=self.how not in ONE_SIDED,
            at_once=self.at_once,
            spread=self.spread,
            condition=self.condition,
        )

    @property
    def holds(self) -> str:
        """The rows of both sides."""
        return "rows of both sides, until the watermark shows that they meet no more"
