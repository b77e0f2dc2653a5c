"""Starts the broker, the job and the game, watches them, and stops them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from millstream.cli.interrupting import Interrupts, interrupts
from millstream.cli.printing import progress_line
from millstream.console.cluster import Cluster
from millstream.console.serve import opened_console
from millstream.console.settings import Settings
from millstream.drawing.draw import Drawing
from millstream.jobs.job import Job
from millstream.kafka import local
from millstream.kafka.admin.topics import create_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.local.jars import Say
from millstream.model.errors import MillstreamError
from millstream.reports.progress import Progress
from millstream.system.data_directory import DATA
from millstream.system.interrupts import interrupts_later

from .picture import History
from .program import team_totals
from .scoreboard import Scoreboard
from .scores import Game
from .view import Moment, View, view_on

_TICK = 0.2  # seconds between two updates
_PATIENCE = 120.0  # seconds after the game until everything must have been counted


def run(console: Console, seconds: float | None) -> tuple[Moment, Drawing]:
    """Runs the demo, without ``seconds`` until Ctrl-C; returns how it ended, and its picture.

    Whatever happens, nothing that it started stays.
    """
    with ExitStack() as running:
        with progress_line() as say:
            demo = _started(running, say)
            say("waiting for the first batch")
            while not (demo.progress().batches or demo.pressed.count):
                time.sleep(_TICK)
        console.print(f"See it in a browser: {demo.console}", soft_wrap=True, style="bold")
        with view_on(console) as view:
            demo.play(view, seconds)
            end = demo.count_the_rest(view)
        with progress_line() as say:
            say("stopping the job and the broker")
            running.close()
    return end, demo.history.drawing(demo.job.rows("late"))


def _started(running: ExitStack, say: Say) -> Demo:
    data = running.enter_context(tempfile.TemporaryDirectory(prefix="millstream-demo-"))
    running.callback(_stop_broker, data)
    servers = local.up(port=0, data=data, say=say).servers
    connection = Connection(servers)
    for topic in ("scores", "totals"):
        create_topic(connection, topic, partitions=2)
    say("starting Spark")
    # What the console shows is recorded in the data directory, as for every job with a checkpoint.
    running.callback(_set_data_directory, os.environ.get(DATA))
    _set_data_directory(data)
    job = team_totals(servers).run("team-scores", checkpoint=Path(data, "checkpoints"))
    running.callback(job.stop)
    console = running.enter_context(_console(Path(data), servers))
    history = History()
    game = running.enter_context(Game(connection, history.add))
    board = running.enter_context(Scoreboard(connection))
    pressed = running.enter_context(interrupts())
    return Demo(servers, console, job, game, board, history, pressed)


@contextmanager
def _console(data: Path, servers: str) -> Iterator[str]:
    """The console at its usual port, or if that is in use at another one; gives its address."""
    with ExitStack() as opened:
        try:
            address = opened.enter_context(opened_console(Settings(data=data), Cluster(servers)))
        except MillstreamError:
            settings = Settings(port=0, data=data)
            address = opened.enter_context(opened_console(settings, Cluster(servers)))
        yield address


def _set_data_directory(folder: str | None) -> None:
    os.environ.pop(DATA, None)
    if folder is not None:
        os.environ[DATA] = folder


def _stop_broker(data: str) -> None:
    with interrupts_later():
        local.down(data)


@dataclass
class Demo:
    """Everything that runs, and its display."""

    servers: str
    console: str
    job: Job
    game: Game
    board: Scoreboard
    history: History
    pressed: Interrupts

    def play(self, view: View, seconds: float | None) -> None:
        """Shows the game until it has ended."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self.pressed.count and (end is None or time.monotonic() < end):
            left = "" if end is None else f"{end - time.monotonic():.0f} s left · "
            view.show(self.look(f"{left}Ctrl-C ends it"))
        self.game.end()

    def count_the_rest(self, view: View) -> Moment:
        """Shows the rest, until everything is processed."""
        patient_until = time.monotonic() + _PATIENCE
        pressed = self.pressed.count
        while True:
            moment = self.look("the game has ended; the rest is counted")
            view.show(moment)
            if not moment.under_way or time.monotonic() > patient_until:
                return moment
            if self.pressed.count > pressed:
                raise KeyboardInterrupt

    def progress(self) -> Progress:
        """The job's progress; if it has failed, raises its error."""
        progress = self.job.progress()
        if progress.over:
            self.job.stop()
        return progress

    def look(self, hint: str) -> Moment:
        """What is shown now, with changes since the last time."""
        news = self.board.read(_TICK)
        progress = self.progress()
        for firing in news:
            self.history.add(firing)
        if progress.watermark_lag is not None:
            self.history.add(progress.watermark)
        now = datetime.now(UTC)
        return Moment(
            now, hint, self.servers, self.console, self.game.produced, progress, self.board, news
        )
