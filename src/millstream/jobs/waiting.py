"""Waits for a job's end: shows its progress, and handles Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from rich.console import Console

from millstream.jobs.log_lines import LogView
from millstream.jobs.panel import TICK, LiveView
from millstream.jobs.summary import summary
from millstream.reports.progress import Progress
from millstream.reports.tracker import Tracker
from millstream.system.interrupts import on_interrupt, on_termination

STOPPING = "stopping after the current batch; Ctrl-C again to abandon it"


class View(Protocol):
    """Something that shows a job, between being entered and left."""

    def show(self, progress: Progress) -> None:
        """Called often, whether or not anything has changed."""

    def announce(self, message: str) -> None:
        """A message that stays, unlike what ``show`` shows."""

    def __enter__(self) -> View: ...

    def __exit__(self, *error: object) -> None: ...


def wait(tracker: Tracker, stop: Callable[[], None], view: View) -> Progress:
    """Shows a job until it has ended, and then what it did.

    The first Ctrl-C or SIGTERM calls ``stop``, which is to ask for the job's end and return at
    once. The second raises KeyboardInterrupt.
    """
    with _interrupts() as presses, view:
        try:
            _watch(tracker, stop, view, presses)
        finally:
            progress = tracker.progress()
            view.show(progress)
            view.announce(f"{progress.state}: {summary(progress)}")
    return progress


def _watch(
    tracker: Tracker, stop: Callable[[], None], view: View, presses: Callable[[], int]
) -> None:
    asked = False
    while not (progress := tracker.progress()).over:
        view.show(progress)
        if presses() > 1:
            raise KeyboardInterrupt
        if presses() and not asked:
            asked = True
            view.announce(STOPPING)
            stop()
        tracker.wait_for_change(TICK)


@contextmanager
def _interrupts() -> Iterator[Callable[[], int]]:
    """How often Ctrl-C was pressed, or SIGTERM received; the second time it raises.

    The exception is lost if Python is in a finalizer at that moment: so the waiting code checks the
    count, too.
    """
    presses = 0

    def pressed(_signal: int, _frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            raise KeyboardInterrupt

    with on_interrupt(pressed), on_termination(pressed):
        yield lambda: presses


def view_of(name: str) -> View:
    """The view that suits where the job runs: a panel in a terminal, log lines elsewhere."""
    # Standard output is for rows. That colours are forced does not make a file a terminal.
    console = Console(stderr=True, force_terminal=sys.stderr.isatty())
    draws = console.is_interactive and not console.options.ascii_only
    return LiveView(name, console) if draws else LogView(name)
