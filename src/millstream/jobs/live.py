"""Shows a running job to people: a panel in a terminal, lines of a log elsewhere."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from millstream.reports.progress import (
    Progress,
    State,
    Tracker,
    counted,
    rate_in_words,
    size_in_words,
    watermark_in_words,
)
from millstream.system.interrupts import on_interrupt, on_termination

STOPPING = "stopping after the current batch; Ctrl-C again to abandon it"

_TICK = 0.2  # seconds between two updates: short enough for Ctrl-C, and cheap for the job
_LINE_EVERY = 1.0  # seconds between two lines of the log, however fast the batches
_QUIET_LINE_EVERY = 30.0  # while batches have no new rows

_WIDEST = 76
_LISTED = 5  # sinks or steps named one by one
_BATCHES_DRAWN = 24
_BARS = "▁▂▃▄▅▆▇█"
_COLOURS: dict[State, str] = {"running": "green", "failed": "red"}


class View(Protocol):
    """Something that shows a job, between being entered and left."""

    def show(self, progress: Progress) -> None:
        """Called often, whether or not anything has changed."""

    def say(self, message: str) -> None:
        """A message that stays, unlike what ``show`` shows."""

    def __enter__(self) -> View: ...

    def __exit__(self, *error: object) -> None: ...


def wait(tracker: Tracker, stop: Callable[[], None], view: View) -> Progress:
    """Shows a job until it has ended, and then what it did.

    The first Ctrl-C or SIGTERM calls ``stop``, which must request the job's end and return at once.
    The second raises KeyboardInterrupt.
    """
    with _interrupts() as presses, view:
        try:
            _watch(tracker, stop, view, presses)
        finally:
            progress = tracker.progress()
            view.show(progress)
            view.say(f"{progress.state}: {summary(progress)}")
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
            view.say(STOPPING)
            stop()
        tracker.wait_for_change(_TICK)


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


def summary(progress: Progress) -> str:
    """What a job did, in a sentence."""
    wrote = [f"{counted(rows, 'row')} to {sink!r}" for sink, rows in progress.written.items()]
    parts = [f"read {counted(progress.rows, 'row')} in {_batches(progress)}"]
    parts += [f"wrote {_listed(wrote)}"] if wrote else []
    parts.append(_with_steps(f"{progress.late:,} late", progress.late_by_step))
    parts.append(_with_steps(f"{progress.rejected:,} rejected", progress.rejected_by_step))
    return ", ".join(parts)


def view_of(name: str) -> View:
    """The view that suits where the job runs: a panel in a terminal, log lines elsewhere."""
    # Standard output is for rows. That colours are forced does not make a file a terminal.
    console = Console(stderr=True, force_terminal=sys.stderr.isatty())
    draws = console.is_interactive and not console.options.ascii_only
    return LiveView(name, console) if draws else LogView(name)


class LiveView:
    """A panel that is redrawn in its place, and replaced by a sentence at the end."""

    def __init__(self, name: str, console: Console) -> None:
        self._name = name
        self._console = console
        self._spinner = Spinner("dots", style="cyan", speed=0.08 / _TICK)  # a frame for each look
        # Other output goes above the panel, unless it goes to a file.
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def show(self, progress: Progress) -> None:
        """Redraws the panel."""
        self._spinner.update(text=_headline(progress))
        body = Table.grid(padding=(0, 2))
        body.add_column(style="dim", no_wrap=True)
        body.add_column(ratio=1, overflow="fold")
        for label, value in _details(progress) if _has_details(progress) else ():
            body.add_row(label, value)
        self._live.update(self._framed(progress, body), refresh=True)

    def say(self, message: str) -> None:
        """Prints a line above the panel."""
        self._console.print(Text.assemble((self._name, "bold"), " ", message))

    def _framed(self, progress: Progress, body: Table) -> Panel:
        inside = Table.grid(expand=True)
        inside.add_row(self._spinner)
        if body.row_count:
            inside.add_row("")
            inside.add_row(body)
        hint = "Ctrl-C stops it after the current batch" if progress.state == "running" else ""
        return Panel(
            inside,
            title=Text(self._name, "bold not dim"),
            title_align="left",
            subtitle=Text(hint, "dim") if hint else None,
            subtitle_align="right",
            border_style="dim",
            padding=(0, 1),
            # The terminal shows ^C after the last line; if that wrapped, the panel would move.
            width=min(_WIDEST, self._console.width - 2),
        )


def _headline(progress: Progress) -> Text:
    if progress.state == "starting":
        return Text("starting Spark …", "yellow")
    line = Text(progress.state, f"bold {_COLOURS.get(progress.state, 'yellow')}")
    if progress.last_batch_seconds is None:
        return line.append(" · the first batch is running", "not bold default")
    last = f" · {_batches(progress)}, the last in {progress.last_batch_seconds:.1f}s"
    return line.append(last, "not bold default")


def _has_details(progress: Progress) -> bool:
    return bool(progress.batches) or progress.watermark is not None


def _details(progress: Progress) -> Iterator[tuple[str, Text]]:
    """The lines of the panel: labels and values."""
    rate = f"{progress.rows:,} · {rate_in_words(progress.rows_per_second)}  "
    yield "rows", Text.assemble(rate, (_sparkline(progress.recent_rows), "cyan"))
    if progress.watermark is not None:
        yield "watermark", Text(_watermark(progress))
        if progress.waiting:
            yield "waits for", Text(progress.waiting, "yellow")
        yield "state", Text(size_in_words(progress))
        yield "late", _alarm(progress.late, progress.late_by_step, "yellow")
    yield "rejected", _alarm(progress.rejected, progress.rejected_by_step, "red")
    if progress.ahead:
        yield "ahead", _alarm(progress.ahead, progress.ahead_by_step, "yellow")
    if progress.restarts:
        yield "restarts", _alarm(progress.restarts, {}, "yellow")
    if progress.written:
        yield "written", _written(progress.written)


def _watermark(progress: Progress) -> str:
    words = watermark_in_words(progress)
    if progress.watermark is None or progress.watermark_lag is None:
        return words
    today = (progress.watermark + progress.watermark_lag).date()
    style = "%H:%M:%S" if progress.watermark.date() == today else "%Y-%m-%d %H:%M"
    return f"{progress.watermark:{style}} UTC, {words}"


def _alarm(count: int, by_step: Mapping[str, int], colour: str) -> Text:
    """A count that ought to be zero."""
    if not count:
        return Text("0", "dim")
    number, _, steps = _with_steps(f"{count:,}", by_step).partition(" ")
    return Text.assemble((number, f"bold {colour}"), f" {steps}" if steps else "")


def _written(written: Mapping[str, int]) -> Text:
    """A line for each sink, the numbers below one another."""
    width = max(len(f"{rows:,}") for rows in written.values())
    lines = [f"{rows:>{width},} to {sink}" for sink, rows in list(written.items())[:_LISTED]]
    more = len(written) - _LISTED
    lines += [f"and {more} more"] if more > 0 else []
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def _sparkline(rows: Sequence[int]) -> str:
    """A bar for each of the last batches; only batches without rows have the lowest bar."""
    drawn = rows[-_BATCHES_DRAWN:]
    top = max(drawn, default=0)
    highest = len(_BARS) - 1
    # Rounded up, so that a few rows do not look like none.
    return "".join(_BARS[-(-count * highest // top) if top else 0] for count in drawn)


def _batches(progress: Progress) -> str:
    return counted(progress.batches, "batch", "batches")


def _with_steps(total: str, by_step: Mapping[str, int]) -> str:
    """The total, and if several steps could have added to it, the counts of those that did."""
    counts = {step: count for step, count in by_step.items() if count}
    if not counts or len(by_step) == 1:
        return total
    if len(counts) == 1:
        return f"{total} in {next(iter(counts))!r}"
    return f"{total} ({_listed([f'{count:,} in {step!r}' for step, count in counts.items()])})"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _LISTED
    *first, last = [*items[:_LISTED], *([f"{more} more"] if more > 0 else [])]
    return f"{', '.join(first)} and {last}" if first else last


class LogView:
    """Lines of the log ``millstream.job``: pairs for people, a dict for formatters.

    The lines have totals, so that skipping a line loses nothing.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._logger = logging.getLogger("millstream.job")
        self._shown: Progress | None = None
        self._shown_at = 0.0
        self._own_handler = ExitStack()

    def __enter__(self) -> LogView:
        if not self._logger.hasHandlers():
            self._own_handler.enter_context(lines_on_stderr(self._logger))
        return self

    def __exit__(self, *error: object) -> None:
        self._own_handler.close()

    def show(self, progress: Progress) -> None:
        """Writes a line if something has changed, and enough time has passed."""
        if self._is_due(progress):
            self._shown, self._shown_at = progress, self._clock()
            level = logging.ERROR if progress.state == "failed" else logging.INFO
            self._log(level, progress.to_dict())

    def say(self, message: str) -> None:
        """Writes a line with a message."""
        self._log(logging.INFO, {"message": message})

    def _is_due(self, progress: Progress) -> bool:
        shown = self._shown
        if shown is None or _urgent(progress) != _urgent(shown):
            return True
        if progress.batches == shown.batches:
            return False
        quiet = progress.rows == shown.rows and progress.written == shown.written
        return self._clock() - self._shown_at >= (_QUIET_LINE_EVERY if quiet else _LINE_EVERY)

    def _log(self, level: int, values: dict[str, Any]) -> None:
        values = {"job": self._name, **values}
        self._logger.log(level, "%s", _pairs(values), extra={"millstream": values})


def _urgent(progress: Progress) -> tuple[object, ...]:
    """Values that are logged as soon as they change."""
    return progress.state, progress.restarts, progress.late_by_step, progress.rejected_by_step


def _pairs(values: Mapping[str, Any]) -> str:
    """Values as ``key=value``, without empty ones."""
    texts = {key: _text(value) for key, value in values.items()}
    return " ".join(f"{key}={_quoted(text)}" for key, text in texts.items() if text)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{count}" for name, count in value.items() if count)
    return "" if value is None or isinstance(value, list) else str(value)


def _quoted(text: str) -> str:
    plain = not any(sign.isspace() or sign in '"=' for sign in text)
    return text if plain else json.dumps(text, ensure_ascii=False)


@contextmanager
def lines_on_stderr(logger: logging.Logger) -> Iterator[None]:
    """Shows log lines on standard error, for programs that have not configured logging.

    A level that is set already is kept.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    before = logger.level
    chosen = logger.level or logging.getLogger("millstream").level
    logger.addHandler(handler)
    logger.setLevel(chosen or logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
