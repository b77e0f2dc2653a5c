"""A grouping as an interpreter drives it, whichever engine runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from millstream.model.windowing import Windowing
from millstream.reference.aggregates import Column
from millstream.reference.elements import Element, Emission, Late
from millstream.reference.grouping import GroupByKeyAndWindow
from millstream.reference.ordered_groups import GroupByKeyInOrder


class Groups(Protocol):
    """A grouping that runs: what the reference and every other engine do for an interpreter."""

    late: list[Late]

    def take(
        self, elements: Iterable[tuple[Any, Element]], watermark: int, now: int
    ) -> list[Emission]: ...

    def advance_output_watermark(self) -> int: ...

    def close(self) -> None: ...


MakeGroups = Callable[[Windowing, Sequence[Column], bool], Groups]
"""Makes a grouping of its settings and aggregates; the flag is whether it takes retractions."""


def reference_groups(
    windowing: Windowing, columns: Sequence[Column], takes_retractions: bool
) -> Groups:
    """The plainly correct grouping."""
    made = GroupByKeyInOrder if windowing.where.ordered else GroupByKeyAndWindow
    return made(windowing, columns)
