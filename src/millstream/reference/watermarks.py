"""Where the watermark of a grouping's input is, by the policies of its sources: the plain version.

All reports are kept, and read anew in each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Silence
from millstream.plan import nodes


@dataclass(frozen=True, slots=True)
class Report:
    """The watermark that a split of an origin reported when the clock was at ``now``."""

    origin: str
    split: str
    watermark: int
    now: int


@dataclass
class InputWatermark:
    """The watermark of a grouping's input. ``origins`` are its sources and the groupings before it.

    An origin without reports has one split, which has reported nothing since the beginning.
    """

    origins: Mapping[str, Silence]
    reports: list[Report] = field(default_factory=list)
    watermark: int = START_OF_TIME
    began: int | None = None

    def advance(self, reports: Iterable[Report], now: int) -> int:
        """The watermark when the clock is at ``now``, after the reports of this step."""
        self.began = now if self.began is None else self.began
        self.reports += reports
        live, anyone = [], False
        for origin, silence in self.origins.items():
            for watermark, last in self._splits(origin):
                anyone = True
                if watermark < END_OF_TIME:
                    idle = silence.idle is not None and now >= last + silence.idle
                    live.append((watermark, idle, silence.behind))
        if not anyone:
            return self.watermark
        self.watermark = max(self.watermark, self._next(live, now))
        return self.watermark

    def _next(self, live: list[tuple[int, bool, int | None]], now: int) -> int:
        if not live:
            return END_OF_TIME
        if all(idle for _, idle, _ in live):
            clocks = [now - behind for _, _, behind in live if behind is not None]
            farthest = max(watermark for watermark, _, _ in live)
            return max(farthest, min(clocks)) if clocks else farthest
        # A split that is behind does not pull time back, and is not waited for either.
        waited_for = [w for w, idle, _ in live if not idle and w >= self.watermark]
        return min(waited_for, default=self.watermark)

    def _splits(self, origin: str) -> list[tuple[int, int]]:
        """The watermark of each split, and when it last reported one."""
        mine = [report for report in self.reports if report.origin == origin]
        if not mine:
            return [(START_OF_TIME, self.began or 0)]
        return [
            (
                max(report.watermark for report in mine if report.split == split),
                max(report.now for report in mine if report.split == split),
            )
            for split in {report.split for report in mine}
        ]


def origins_of(operator: nodes.Stateful) -> dict[str, Silence]:
    """What an operator's watermark is made of, and what the silence of each means."""
    return {
        node.name: node.watermark.silence
        if isinstance(node, nodes.EventTime) and node.watermark is not None
        else Silence()
        for node in walk_origins(operator)
    }


def walk_origins(operator: nodes.Stateful) -> Iterator[nodes.Node]:
    """The next steps behind an operator with a watermark of their own, and sources without one."""
    stack = list(operator.inputs)
    seen = set()
    while stack:
        node = stack.pop()
        own = isinstance(node, nodes.EventTime) and node.watermark is not None
        if node in seen:
            continue
        seen.add(node)
        if own or isinstance(node, nodes.Stateful | nodes.Source):
            yield node
        else:
            stack += node.inputs
