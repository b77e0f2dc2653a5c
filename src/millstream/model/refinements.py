"""How the panes of one window relate to each other."""

from __future__ import annotations

from enum import Enum


class Refinement(Enum):
    """What a pane contains, and how it relates to the pane before it."""

    DISCARDING = "discarding"
    ACCUMULATING = "accumulating"
    RETRACTING = "retracting"

    def __repr__(self) -> str:
        return self.value


discarding = Refinement.DISCARDING
"""A pane has what arrived since the last one: add panes up."""
accumulating = Refinement.ACCUMULATING
"""A pane has everything that arrived so far: the newest pane replaces the older ones."""
retracting = Refinement.RETRACTING
"""As accumulating, and each pane first retracts the one before it."""
