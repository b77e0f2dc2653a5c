"""The picture of the run: scores and panes, event time across, the clock up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from millstream.drawing.draw import Drawing
from millstream.model.script import Step
from millstream.testing import (
    Elements,
    LateElement,
    Pane,
    Panes,
    ProcessingTime,
    Watermark,
    draw,
)

from .scoreboard import Firing, Total
from .scores import Score

_DRAWN = 60.0  # seconds
_KEPT = 5000  # events: more than there are in that time


class History:
    """What happened in the last minute, and when. Any thread may add to it."""

    def __init__(self) -> None:
        self._events: deque[tuple[float, Score | datetime | Firing]] = deque(maxlen=_KEPT)

    def add(self, event: Score | datetime | Firing) -> None:
        """A score that was sent, a move of the watermark, or a pane."""
        at = event.total.at if isinstance(event, Firing) else time.time()
        self._events.append((at, event))

    def drawing(self, late: Iterable[dict[str, Any]]) -> Drawing:
        """Draws it; ``late`` are the rows that were too late for their windows."""
        dropped = {(row["user"], row["at"]) for row in late}
        events = sorted(self._events, key=lambda pair: pair[0])
        steps: list[Step] = []
        panes = Panes()
        for now, event in events:
            if now < events[-1][0] - _DRAWN:
                continue
            steps.append(ProcessingTime(now))
            match event:
                case Score():
                    steps.append(Elements([(event.team, event.points, event.at)]))
                    if (event.user, event.at) in dropped:
                        panes.late.append(_late(event, step=len(steps) - 1))
                case datetime():
                    steps.append(Watermark(event))
                case Firing():
                    panes += [_pane(total, step=len(steps) - 1) for total in event if total]
        return draw(
            panes,
            steps,
            title="Team scores, live",
            subtitle="windows of ten seconds, retracting; the last minute",
        )


def _late(score: Score, step: int) -> LateElement:
    at = score.at.timestamp()
    return LateElement(score.team, score.points, at, None, "expired", step)


def _pane(total: Total, step: int) -> Pane:
    return Pane(
        total.team,
        total.window,
        total.total,
        total.timing,
        total.index,
        total.first,
        total.last,
        total.kind,
        step,
    )
