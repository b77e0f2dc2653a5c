"""MS108: the columns that a step puts out have different names, also without regard to case."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.model.errors import PlanError

_OWN = ("window", "pane", "kind")


def check_column_names(names: Iterable[str]) -> None:
    """Keys, aggregates and the columns that a grouping adds may not be called alike."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise PlanError(
                "MS108",
                f"two columns of the result are called {name!r}{_whose(name)}",
                fix=f"give yours another name, such as {name + '_2'}='…'",
            )
        seen.add(name.lower())


def _whose(name: str) -> str:
    if name.lower() not in _OWN:
        return ""
    return " (a grouping puts out 'window' and 'pane', a retracting one also 'kind')"
