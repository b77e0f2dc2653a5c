"""What Ctrl-C does while somebody waits for a job, and how the job is shown."""

from __future__ import annotations

import io
import signal
import threading
import time

import pytest

from job_reports import Terminal, batch
from millstream.jobs.log_lines import LogView
from millstream.jobs.panel import LiveView
from millstream.jobs.waiting import STOPPING, view_of, wait
from millstream.reports.tracker import Tracker


class Script:
    """A view that does something at each look, and remembers what was announced."""

    def __init__(self, *looks):
        self.looks = list(looks)
        self.shown = []
        self.announced = []
        self.entered = self.left = 0

    def show(self, progress):
        self.shown.append(progress.state)
        if self.looks:
            self.looks.pop(0)()

    def announce(self, message):
        self.announced.append(message)

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *error):
        self.left += 1


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def test_waiting_ends_with_the_job_and_a_summary():
    tracker = Tracker()

    def finish():
        tracker.report(batch(rows=7))
        tracker.state("finished")

    view = Script(lambda: tracker.state("running"), finish)
    assert wait(tracker, pytest.fail, view).rows == 7
    assert view.shown == ["starting", "running", "finished"]
    assert view.announced == ["finished: read 7 rows in 1 batch, 0 late, 0 rejected"]
    assert (view.entered, view.left) == (1, 1)


def test_the_first_ctrl_c_asks_once_for_a_stop_and_the_view_continues():
    tracker = Tracker()
    asked = []

    def stop():
        asked.append("stop")
        tracker.state("stopping")

    view = Script(press_ctrl_c, int, lambda: tracker.state("stopped"))
    wait(tracker, stop, view)
    assert asked == ["stop"]
    assert view.shown == ["starting", "stopping", "stopping", "stopped"]
    assert view.announced[0] == STOPPING
    assert STOPPING == "stopping after the current batch; Ctrl-C again to abandon it"


def test_sigterm_stops_a_job_as_ctrl_c_does():
    tracker = Tracker()
    view = Script(lambda: signal.raise_signal(signal.SIGTERM))
    wait(tracker, lambda: tracker.state("stopped"), view)
    assert view.shown == ["starting", "stopped"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_program_with_its_own_handler_of_sigterm_keeps_it():
    received = []
    signal.signal(signal.SIGTERM, lambda *_: received.append("program"))
    tracker = Tracker()
    terminate = [lambda: signal.raise_signal(signal.SIGTERM), lambda: tracker.state("finished")]
    try:
        wait(tracker, pytest.fail, Script(*terminate))
        assert received == ["program"]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_the_second_ctrl_c_raises_after_a_summary():
    tracker = Tracker()
    tracker.state("running")
    view = Script(press_ctrl_c, press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        wait(tracker, lambda: tracker.state("stopping"), view)
    assert view.announced == [STOPPING, "stopping: read 0 rows in 0 batches, 0 late, 0 rejected"]
    assert view.left == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_second_ctrl_c_is_not_lost_in_a_finalizer():
    class Finalized:
        def __del__(self):
            press_ctrl_c()
            time.sleep(0)  # here, at the latest, the handler runs, and what it raises is ignored

    tracker = Tracker()
    tracker.state("running")
    with pytest.raises(KeyboardInterrupt):
        wait(tracker, lambda: tracker.state("stopping"), Script(press_ctrl_c, Finalized))


def test_ctrl_c_while_waiting_does_not_reach_the_handler_that_spark_left():
    """Spark's handler cancels the batch under way."""
    received = []
    before = signal.signal(signal.SIGINT, lambda *_: received.append("spark"))
    tracker = Tracker()
    try:
        wait(tracker, lambda: tracker.state("stopped"), Script(press_ctrl_c))
        assert received == []
        press_ctrl_c()
        assert received == ["spark"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_job_in_the_background_of_a_shell_stays_deaf_to_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    tracker = Tracker()
    try:
        wait(tracker, pytest.fail, Script(press_ctrl_c, lambda: tracker.state("finished")))
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_can_wait_too():
    tracker, view = Tracker(), Script()
    waiting = threading.Thread(target=wait, args=(tracker, pytest.fail, view))
    waiting.start()
    tracker.state("finished")
    waiting.join(30)
    assert view.announced == ["finished: read 0 rows in 0 batches, 0 late, 0 rejected"]


def test_a_stop_that_fails_leaves_the_view_behind():
    def stop():
        raise RuntimeError("no query")

    view = Script(press_ctrl_c)
    with pytest.raises(RuntimeError, match="no query"):
        wait(Tracker(), stop, view)
    assert view.left == 1


def view_on(stderr, monkeypatch, **environment):
    """The view where standard error is this, and nothing else is said of the terminal."""
    for name in ("TTY_INTERACTIVE", "TTY_COMPATIBLE", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", stderr)
    return view_of("j")


class AsciiTerminal(Terminal):
    encoding = "ascii"


def test_a_terminal_gets_the_panel(monkeypatch):
    assert isinstance(view_on(Terminal(), monkeypatch), LiveView)


def test_a_dumb_terminal_gets_lines(monkeypatch):
    assert isinstance(view_on(Terminal(), monkeypatch, TERM="dumb"), LogView)


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch):
    assert isinstance(view_on(AsciiTerminal(), monkeypatch), LogView)


def test_a_file_gets_lines_even_where_colours_are_forced(monkeypatch):
    assert isinstance(view_on(io.StringIO(), monkeypatch, FORCE_COLOR="1"), LogView)
