"""A running job in a terminal: a panel that is drawn again and again in the same place."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from millstream.jobs.summary import LISTED, batches, with_steps
from millstream.model.amounts import rate_in_words
from millstream.reports.progress import Progress, State, size_in_words, watermark_in_words

TICK = 0.2
"""Seconds between two frames: short enough for Ctrl-C, and cheap for the job."""

_WIDEST = 76
_BATCHES_DRAWN = 24
_BARS = "▁▂▃▄▅▆▇█"
_COLOURS: dict[State, str] = {"running": "green", "failed": "red"}


class LiveView:
    """A panel that is drawn again and again in its place, and is removed at the end."""

    def __init__(self, name: str, console: Console) -> None:
        self._name = name
        self._console = console
        self._spinner = Spinner("dots", style="cyan", speed=0.08 / TICK)  # a frame for each tick
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
        """Draws the panel."""
        self._spinner.update(text=_headline(progress))
        body = Table.grid(padding=(0, 2))
        body.add_column(style="dim", no_wrap=True)
        body.add_column(ratio=1, overflow="fold")
        for label, value in _details(progress) if _has_details(progress) else ():
            body.add_row(label, value)
        self._live.update(self._framed(progress, body), refresh=True)

    def announce(self, message: str) -> None:
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
    last = f" · {batches(progress)}, the last in {progress.last_batch_seconds:.1f}s"
    return line.append(last, "not bold default")


def _has_details(progress: Progress) -> bool:
    return bool(progress.batches) or progress.watermark is not None


def _details(progress: Progress) -> Iterator[tuple[str, Text]]:
    """The lines of the panel: a label and a text."""
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
    number, _, steps = with_steps(f"{count:,}", by_step).partition(" ")
    return Text.assemble((number, f"bold {colour}"), f" {steps}" if steps else "")


def _written(written: Mapping[str, int]) -> Text:
    """A line for each sink, the numbers below one another."""
    width = max(len(f"{rows:,}") for rows in written.values())
    lines = [f"{rows:>{width},} to {sink}" for sink, rows in list(written.items())[:LISTED]]
    more = len(written) - LISTED
    lines += [f"and {more} more"] if more > 0 else []
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def _sparkline(rows: Sequence[int]) -> str:
    """A bar for each of the last batches; only batches without rows have the lowest bar."""
    drawn = rows[-_BATCHES_DRAWN:]
    top = max(drawn, default=0)
    highest = len(_BARS) - 1
    # Rounded up, so that a few rows do not look like none.
    return "".join(_BARS[-(-count * highest // top) if top else 0] for count in drawn)
