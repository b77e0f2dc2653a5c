"""Operators with a single input, as most are."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.nodes import Keys, Node, Stateful


@dataclass(frozen=True, eq=False)
class OnePort(Stateful):
    """An operator whose only port is called ``rows``."""

    @property
    def input(self) -> Node:
        """The step that feeds its port."""
        return self.ports[0].input

    @property
    def keys(self) -> Keys:
        """The keys of its port."""
        return self.ports[0].keys
