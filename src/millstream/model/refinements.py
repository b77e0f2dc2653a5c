"""How the panes of one window relate to each other."""

from __future__ import annotations

from enum import Enum


class Refinement(Enum):
    """What a pane holds, and what becomes of the pane before it."""

    DISCARDING = "discarding"
    ACCUMULATING = "accumulating"
    RETRACTING = "retracting"

    def __repr__(self) -> str:
        return self.value


discarding = Refinement.DISCARDING
"""A pane holds what came since the last one: add panes up."""
accumulating = Refinement.ACCUMULATING
"""A pane holds all that came so far: the newest pane replaces the older ones."""
retracting = Refinement.RETRACTING
"""As accumulating, and each pane first takes back the one before it."""
