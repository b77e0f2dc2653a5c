"""What is shown while it runs: a progress bar in a terminal, else a line for each step."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Display:
    """Counts the steps of all measurements."""

    def __init__(self, console: Console, steps: int) -> None:
        self._console = console
        self._steps = steps
        self._done = 0
        self._began = time.monotonic()
        self._measurement = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=steps)

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def measure(self, name: str) -> None:
        """Another measurement begins."""
        self._measurement = name
        self.say("preparing")

    def say(self, what: str) -> None:
        """What is being done."""
        self._bar.update(self._task, description=f"{self._measurement}: {what}")

    def step(self, what: str, seconds: float | None = None) -> None:
        """A step has ended."""
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        if not self._console.is_terminal:
            took = "" if seconds is None else f": {seconds:.2f} s"
            elapsed = time.monotonic() - self._began
            count = f"[{self._done:3}/{self._steps}, {elapsed:4.0f} s]"
            print(f"{count} {self._measurement}: {what}{took}", flush=True)
