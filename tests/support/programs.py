"""Programs on their way to Spark, for tests of single parts of the lowering."""

from __future__ import annotations

from typing import Any

import millstream as ms
from millstream.physical.plan import Instance, physical
from millstream.spark.lower.lowering import Lowering


def lowering_of(*parts: ms.Pipeline, **how: Any) -> Lowering:
    """A program as the lowering of a streaming job has it."""
    plan = physical(ms.pipeline(*parts).sinks)
    given = {"labels": [0, 1], "run": "a1b2c3d4", "ending": True, **how}
    return Lowering(plan=plan, **given)


def instance_of(lowering: Lowering, name: str, role: str = "run", **has: Any) -> Instance:
    """The one instance of a step in a role."""
    (found,) = [
        i
        for i in lowering.plan.instances
        if (i.node.name, i.role) == (name, role)
        and all(getattr(i, field) == value for field, value in has.items())
    ]
    return found
