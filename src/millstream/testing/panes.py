"""The result of a replay."""

from __future__ import annotations

from collections.abc import Iterable
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
