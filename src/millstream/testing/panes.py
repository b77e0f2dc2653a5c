"""The result of a replay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from millstream.model.panes import LateElement, Pane


class Panes(list[Pane]):
    """The panes of a replay in the order in which they were emitted.

    ``late`` are the elements that came too late, ``rejected`` the records that steps of a
    pipeline rejected: dicts of ``step``, ``reason`` and ``record``.
    """

    def __init__(
        self,
        panes: Iterable[Pane] = (),
        late: Iterable[LateElement] = (),
        rejected: Iterable[dict[str, Any]] = (),
    ) -> None:
        super().__init__(panes)
        self.late = list(late)
        self.rejected = list(rejected)


@dataclass(frozen=True, slots=True)
class ReplayedRow:
    """A row that a stream emitted in a replay: its columns, event time in seconds, and step."""

    values: dict[str, Any]
    time: float | None
    step: int
    kind: str = "+"


class Rows(list[ReplayedRow]):
    """The rows of a replay in the order in which they were emitted.

    ``outputs`` has those of side outputs by name, ``late`` the rows that came too late, and
    ``rejected`` the records that were rejected.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outputs: dict[str, list[ReplayedRow]] = {}
        self.late: list[ReplayedRow] = []
        self.rejected: list[dict[str, Any]] = []

    @property
    def values(self) -> list[dict[str, Any]]:
        """The columns of the rows."""
        return [row.values for row in self]
