"""MS108: the columns of a step have different names, also without regard to case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.model.errors import PlanError


def check_column_names(names: Iterable[str], own: Sequence[str] = ()) -> None:
    """The names differ; ``own`` are those that the step itself adds to the user's."""
    seen: set[str] = set()
    for name in (*names, *own):
        if name.lower() in seen:
            raise PlanError(
                "MS108",
                f"two columns of the result are called {name!r}{_whose(name, own)}",
                fix=f"give yours another name, such as {name}_2=…",
            )
        seen.add(name.lower())


def _whose(name: str, own: Sequence[str]) -> str:
    if name not in own:
        return ""
    return " (a grouping adds 'window' and 'pane', a retracting one also 'kind')"
