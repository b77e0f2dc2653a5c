"""The regular join as workers run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.engine.joins.pair_condition import PairCondition
from millstream.engine.joins.regular import RegularJoin
from millstream.physical.operators.two_sides import TwoSidesSpec, pair_condition
from millstream.plan.operators import regular_join as plan
from millstream.plan.operators.two_sides import TwoSides


@dataclass(frozen=True, kw_only=True)
class RegularJoinSpec(TwoSidesSpec[RegularJoin]):
    """A regular join."""

    ttl: int | None
    condition: PairCondition | None

    @classmethod
    def settings(cls, node: TwoSides) -> dict[str, Any]:
        assert isinstance(node, plan.RegularJoin)
        own = {"ttl": node.ttl, "condition": pair_condition(node, node.where)}
        return {**super().settings(node), **own}

    def made(self) -> RegularJoin:
        return RegularJoin(self.name, self.engine_keys, self.how, self.ttl, self.condition)

    @property
    def holds(self) -> str:
        """The rows of both sides."""
        return "the rows of both sides" + ("" if self.ttl is None else " for twice their ttl")
