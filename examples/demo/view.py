"""Shows the demo: in a terminal a board that is redrawn, elsewhere line by line.

Times are in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from millstream.model.amounts import rate_in_words
from millstream.reports.progress import Progress, watermark_in_words

from .program import LATENESS
from .scoreboard import Firing, Scoreboard, Total, Window
from .scores import TEAMS

_TIMINGS = {"EARLY": ("early", "yellow"), "ON_TIME": ("on time", "green"), "LATE": ("late", "red")}
_MOST_WINDOWS = 6
_AROUND = 13  # lines of the board that are not windows
_NEW = 1.0  # seconds for which a pane is marked as new
_RULER = timedelta(seconds=20)
_RULER_WIDTH = 30
_STATUS_EVERY = timedelta(seconds=5)


@dataclass(frozen=True)
class Moment:
    """Everything that is known at one moment."""

    now: datetime
    hint: str
    """How long it runs, and how to end it."""
    servers: str
    console: str
    produced: int
    progress: Progress
    board: Scoreboard
    news: Sequence[Firing]
    """The panes since the moment before."""

    @property
    def accounts(self) -> dict[str, int]:
        """The counts of the records that were produced."""
        late, rejected = self.progress.late, self.progress.rejected
        return {"counted": self.board.counted, "late": late, "rejected": rejected}

    @property
    def under_way(self) -> int:
        """Records that are not processed yet."""
        return self.produced - sum(self.accounts.values())


class View(Protocol):
    """Something that shows the demo, within a block."""

    def show(self, moment: Moment) -> None:
        """Called several times a second."""

    def __enter__(self) -> View: ...

    def __exit__(self, *error: object) -> None: ...


def view_on(console: Console) -> View:
    """The view that suits where the output goes."""
    draws = console.is_interactive and not console.options.ascii_only
    return Board(console) if draws else Lines(console)


class Lines:
    """A line for each pane, and a line of progress every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._due: datetime | None = None

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left to print."""

    def show(self, moment: Moment) -> None:
        """Prints what is new."""
        if self._due is None:
            self._print(f"Kafka is at {moment.servers}; times are in UTC")
        for total, taken_back in moment.news:
            if taken_back is not None:
                self._print_total(taken_back, "retracted")
            self._print_total(total, _TIMINGS[total.timing][0])
        if self._due is None or moment.now >= self._due:
            self._due = moment.now + _STATUS_EVERY
            self._print(
                f"{moment.now:%H:%M:%S} watermark {watermark_in_words(moment.progress)},"
                f" {rate_in_words(moment.progress.rows_per_second)}, {equation(moment)}"
            )

    def _print_total(self, total: Total, what: str) -> None:
        self._print(
            f"{_clock(total.at)} {total.kind} {total.team:6} {_window(total.window)}"
            f" {total.total:4} points, {what}"
        )

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)


class Board:
    """The newest windows, a column for each team; the watermark; and the counts of records."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Board:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def show(self, moment: Moment) -> None:
        """Redraws it."""
        room = max(1, min(_MOST_WINDOWS, self._console.height - _AROUND))
        numbers = Table.grid(padding=(0, 2))
        numbers.add_column(style="dim", no_wrap=True)
        numbers.add_column()
        read = rate_in_words(moment.progress.rows_per_second)
        numbers.add_row("watermark", _ruler(moment))
        numbers.add_row("produced", f"{moment.produced:,}; the job reads {read}")
        numbers.add_row("of these", _parts(moment))
        panel = Panel(
            Group(_windows(moment, room), "", numbers, "", _legend()),
            title=Text(f"team scores · Kafka at {moment.servers}", "bold not dim"),
            title_align="left",
            subtitle=Text(f"{moment.console} · {moment.hint}", "dim"),
            subtitle_align="right",
            border_style="dim",
            padding=(0, 1),
            # The terminal shows ^C after the last line; if that wrapped, the panel would move.
            width=min(100, self._console.width - 2),
        )
        self._live.update(panel, refresh=True)


def equation(moment: Moment) -> str:
    """The counts of all records."""
    return f"{moment.produced:,} produced = {_parts(moment)}"


def _parts(moment: Moment) -> str:
    """The parts of the sum; records that are not processed yet are shown if there are any."""
    parts = [f"{count:,} {what}" for what, count in moment.accounts.items()]
    parts += [f"{moment.under_way:,} under way"] if moment.under_way else []
    return " + ".join(parts)


def _windows(moment: Moment, room: int) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("window", no_wrap=True)
    for team in TEAMS:
        table.add_column(team, no_wrap=True, ratio=1)
    newest = sorted(moment.board.windows)[-room:]
    for window in newest:
        cells = (moment.board.windows[window].get(team) for team in TEAMS)
        shown = [_cell(moment, cell) if cell else "" for cell in cells]
        table.add_row(_window(window), *shown, style=_style(moment, window))
    for _ in range(room - len(newest)):
        table.add_row("")  # so that the board does not grow
    return table


def _cell(moment: Moment, firing: Firing) -> Text:
    total, before = firing
    word, colour = _TIMINGS[total.timing]
    new = " reverse" if moment.now.timestamp() - total.at < _NEW else ""
    return Text.assemble(
        (f"{before.total}" if before else "", "strike dim"),
        " " if before else "",
        (f"{total.total}", f"bold {colour}{new}"),
        (f" {word}", colour),
    )


def _style(moment: Moment, window: Window) -> str:
    """Windows that accept no more scores fade."""
    watermark = moment.progress.watermark
    over = watermark is not None and window[1] + LATENESS <= watermark.timestamp()
    return "dim" if over else ""


def _ruler(moment: Moment) -> Text:
    """The last seconds up to the clock, of which the watermark has passed a part."""
    lag = moment.progress.watermark_lag
    words = watermark_in_words(moment.progress)
    if lag is None:
        return Text(words)
    behind = round(min(max(lag / _RULER, 0), 1) * _RULER_WIDTH)
    return Text.assemble(
        ("━" * (_RULER_WIDTH - behind), "cyan"),
        ("╌" * behind, "dim"),
        f" {words}; clock {moment.now:%H:%M:%S} UTC",
    )


def _legend() -> Text:
    return Text.assemble(
        ("early", "yellow"),
        (" by clock · ", "dim"),
        ("on time", "green"),
        (" by watermark · ", "dim"),
        ("late", "red"),
        (" corrected · ", "dim"),
        ("12", "strike dim"),
        (" retracted", "dim"),
    )


def _window(window: Window) -> str:
    start, end = map(_clock, window)
    return f"{start}-{end}"


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}"
