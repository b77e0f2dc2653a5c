"""How far jobs of tests have come."""

from __future__ import annotations

import io

from millstream.reports.progress import BatchReport, Progress
from millstream.reports.tracker import Tracker

NOW = 1_784_900_000.0  # 2026-07-24 13:33:20 UTC
LONG = "a-sink-with-a-name-that-is-longer-than-any-line-of-a-narrow-terminal"


def batch(number=0, *, rows=1000, started=NOW - 1, seconds=1.0, **others):
    return BatchReport(number, started=started, seconds=seconds, rows=rows, **others)


def progress_of(*reports, state="running") -> Progress:
    tracker = Tracker()
    tracker.state(state)
    for report in reports:
        tracker.report(report)
    return tracker.progress(NOW)


BUSY = progress_of(
    *(
        batch(
            number,
            rows=40_000 * (number % 3),
            started=NOW - 30 + number,
            written={"totals": 101, "best": 3, LONG: 0},
            late={"aggregate-1": 1, "aggregate-2": 2},
            rejected={"parse": 2, "map-1": 0},
            watermark=int((NOW - 12.4) * 1e6),
            state_rows=123_456,
            state_bytes=45_123_456,
        )
        for number in range(30)
    )
)
STARTING = progress_of(state="starting")
PLAIN = progress_of(batch(written={"all": 1000}))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
