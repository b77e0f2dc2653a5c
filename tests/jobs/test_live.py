"""How a running job is shown, and what Ctrl-C does while somebody waits for it."""

from __future__ import annotations

import io
import json
import logging
import re
import signal
import threading
import time

import pytest
from rich.console import Console

from millstream.jobs.live import STOPPING, LiveView, LogView, summary, view_of, wait
from millstream.model.instants import END_OF_TIME
from millstream.reports.progress import BatchReport, Progress, Tracker

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


def console_on(file, width=80):
    """A console that the terminal of whoever runs the tests does not change."""
    return Console(
        file=file,
        width=width,
        height=40,
        force_terminal=True,
        color_system="standard",
        _environ={"TERM": "xterm-256color"},
    )


def drawn(progress, width=80, colours=False, name="team-scores"):
    """What a terminal shows at the first look, line by line."""
    file = Terminal()
    with LiveView(name, console_on(file, width)) as view:
        view.show(progress)
        text = file.getvalue()
    return text if colours else re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).strip("\r\n")


class Script:
    """A view that does something at each look, and remembers what it was told."""

    def __init__(self, *looks):
        self.looks = list(looks)
        self.shown = []
        self.said = []
        self.entered = self.left = 0

    def show(self, progress):
        self.shown.append(progress.state)
        if self.looks:
            self.looks.pop(0)()

    def say(self, message):
        self.said.append(message)

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *error):
        self.left += 1


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


# --- waiting


def test_waiting_ends_with_the_job_and_a_summary():
    tracker = Tracker()

    def finish():
        tracker.report(batch(rows=7))
        tracker.state("finished")

    view = Script(lambda: tracker.state("running"), finish)
    assert wait(tracker, pytest.fail, view).rows == 7
    assert view.shown == ["starting", "running", "finished"]
    assert view.said == ["finished: read 7 rows in 1 batch, 0 late, 0 rejected"]
    assert (view.entered, view.left) == (1, 1)


def test_the_first_ctrl_c_asks_once_for_a_stop_and_goes_on_showing():
    tracker = Tracker()
    asked = []

    def stop():
        asked.append("stop")
        tracker.state("stopping")

    view = Script(press_ctrl_c, int, lambda: tracker.state("stopped"))
    wait(tracker, stop, view)
    assert asked == ["stop"]
    assert view.shown == ["starting", "stopping", "stopping", "stopped"]
    assert view.said[0] == STOPPING
    assert STOPPING == "stopping after the current batch; Ctrl-C again to abandon it"


def test_sigterm_stops_a_job_as_ctrl_c_does():
    tracker = Tracker()
    view = Script(lambda: signal.raise_signal(signal.SIGTERM))
    wait(tracker, lambda: tracker.state("stopped"), view)
    assert view.shown == ["starting", "stopped"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_program_that_listens_for_sigterm_itself_is_left_alone():
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append("program"))
    tracker = Tracker()
    terminate = [lambda: signal.raise_signal(signal.SIGTERM), lambda: tracker.state("finished")]
    try:
        wait(tracker, pytest.fail, Script(*terminate))
        assert heard == ["program"]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_the_second_ctrl_c_raises_and_still_tells_what_was_done():
    tracker = Tracker()
    tracker.state("running")
    view = Script(press_ctrl_c, press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        wait(tracker, lambda: tracker.state("stopping"), view)
    assert view.said == [STOPPING, "stopping: read 0 rows in 0 batches, 0 late, 0 rejected"]
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
    """Spark's handler cancels the current batch."""
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("spark"))
    tracker = Tracker()
    try:
        wait(tracker, lambda: tracker.state("stopped"), Script(press_ctrl_c))
        assert heard == []
        press_ctrl_c()
        assert heard == ["spark"]
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
    assert view.said == ["finished: read 0 rows in 0 batches, 0 late, 0 rejected"]


def test_a_stop_that_fails_leaves_the_view_behind():
    def stop():
        raise RuntimeError("no query")

    view = Script(press_ctrl_c)
    with pytest.raises(RuntimeError, match="no query"):
        wait(Tracker(), stop, view)
    assert view.left == 1


# --- the summary


def test_a_summary_is_a_sentence():
    reports = [batch(n, rows=500_000, written={"totals": 602}, late={"x": n}) for n in range(2)]
    assert summary(progress_of(*reports)) == (
        "read 1,000,000 rows in 2 batches, wrote 1,204 rows to 'totals', 1 late, 0 rejected"
    )


def test_a_summary_names_the_steps_where_there_are_several():
    assert summary(BUSY) == (
        "read 1,200,000 rows in 30 batches, "
        f"wrote 3,030 rows to 'totals', 90 rows to 'best' and 0 rows to '{LONG}', "
        "90 late (30 in 'aggregate-1' and 60 in 'aggregate-2'), 60 rejected in 'parse'"
    )


def test_a_summary_of_very_many_sinks_stays_short():
    told = summary(progress_of(batch(written={f"s{n}": n for n in range(30)})))
    assert "4 rows to 's4' and 25 more, 0 late" in told


# --- the panel


@pytest.mark.parametrize("width", [50, 80, 200])
@pytest.mark.parametrize("progress", [STARTING, PLAIN, BUSY], ids=["starting", "plain", "busy"])
def test_the_panel_fits_the_terminal_with_room_for_the_echo_of_ctrl_c(progress, width):
    for line in drawn(progress, width).splitlines():
        assert len(line.rstrip()) <= min(width - 2, 76)


def test_the_panel_of_a_job_that_starts_says_so():
    panel = drawn(STARTING)
    assert "─ team-scores ─" in panel
    assert "starting Spark …" in panel
    assert len(panel.splitlines()) == 3


def test_the_panel_shows_that_the_first_batch_runs():
    assert "running · the first batch is running" in drawn(progress_of())


@pytest.mark.parametrize("width", [50, 80])
def test_the_panel_tells_everything_about_a_busy_job(width):
    panel = " ".join(drawn(BUSY, width).replace("│", " ").split())
    for told in (
        "running · 30 batches, the last in 1.0s",
        "rows 1,200,000 · 40,000 rows/s ▁▅█▁▅█",
        "watermark 13:33:07 UTC, 12s behind",
        "state 123,456 rows (45.1 MB)",
        "late 90 (30 in 'aggregate-1' and 60 in 'aggregate-2')",
        "rejected 60 in 'parse'",
        "written 3,030 to totals 90 to best 0 to a-sink-with",
        "Ctrl-C stops it after the current batch",
    ):
        assert told in panel


def test_the_panel_gives_the_date_of_a_watermark_of_another_day():
    panel = drawn(progress_of(batch(watermark=int((NOW - 90_000) * 1e6))))
    assert "2026-07-23 12:33 UTC, 1d1h behind" in panel


def test_the_panel_says_that_the_input_has_ended():
    assert re.search(r"watermark +at the end ", drawn(progress_of(batch(watermark=END_OF_TIME))))


def test_the_panel_names_the_split_that_the_watermark_waits_for_and_rows_ahead_of_the_clock():
    waiting = "split '3' of 'scores', silent for 2m"
    shown = drawn(progress_of(batch(watermark=0, waiting=waiting, ahead={"at": 7})))
    assert re.search(r"waits for +split '3' of 'scores', silent for 2m", shown)
    assert re.search(r"ahead +7", shown)


def test_a_job_that_is_resumed_shows_where_it_was_before_its_first_batch():
    tracker = Tracker()
    tracker.state("running")
    tracker.resume(BatchReport(-1, 0, 0, 0, watermark=int((NOW - 60) * 1e6), state_rows=12))
    shown = drawn(tracker.progress(NOW))
    assert re.search(r"watermark +13:32:20 UTC, 1m behind", shown)
    assert re.search(r"state +12 rows", shown)


def test_a_job_without_groupings_shows_no_watermark_no_state_and_nothing_late():
    panel = drawn(PLAIN)
    assert not re.search("watermark|state|late", panel)
    assert re.search(r"rejected +0", panel)


def test_what_ought_to_be_zero_stands_out_when_it_is_not():
    assert "\x1b[1;33m90\x1b[0m" in drawn(BUSY, colours=True)
    assert "\x1b[1;31m60\x1b[0m" in drawn(BUSY, colours=True)
    assert "\x1b[1;31m" not in drawn(PLAIN, colours=True)


def test_restarts_are_shown_once_there_are_some():
    tracker = Tracker()
    tracker.state("running")
    tracker.report(batch())
    assert "restarts" not in drawn(tracker.progress(NOW))
    assert "restart" not in str(tracker.progress(NOW))
    tracker.restart()
    assert re.search(r"restarts +1 ", drawn(tracker.progress(NOW)))
    assert str(tracker.progress(NOW)).endswith("0 rejected, 1 restart")


def test_a_few_rows_do_not_look_like_none():
    reports = [batch(number, rows=rows) for number, rows in enumerate([0, 1, 500, 1000])]
    assert " ▁▂▅█ " in drawn(progress_of(*reports))


def test_many_sinks_do_not_fill_the_screen():
    panel = drawn(progress_of(batch(written={f"sink-{n}": n for n in range(30)})))
    assert "4 to sink-4" in panel
    assert "sink-5" not in panel
    assert "and 25 more" in panel


def test_names_are_shown_as_they_are():
    progress = progress_of(batch(written={"[bold]": 1}, late={"[x": 1, ":smile:": 1}, watermark=0))
    panel = drawn(progress, name="[red]job")
    for name in ("─ [red]job ─", "1 to [bold]", "1 in '[x' and 1 in ':smile:'"):
        assert name in panel


def test_what_is_said_stays_and_the_panel_goes():
    file = Terminal()
    with LiveView("team-scores", console_on(file)) as view:
        view.show(PLAIN)
        view.say("finished: all of it")
    assert "team-scores\x1b[0m finished: all of it\n" in file.getvalue()
    # Every line that was drawn is erased, and the cursor is back.
    assert file.getvalue().rstrip().endswith("\x1b[2K")
    assert file.getvalue().index("\x1b[?25l") < file.getvalue().index("\x1b[?25h")


# --- the log


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, logger="millstream.job")
    return caplog


def test_a_line_is_pairs_for_people_and_a_dict_for_formatters(lines):
    LogView("team-scores").show(BUSY)
    [record] = lines.records
    assert (record.name, record.levelname) == ("millstream.job", "INFO")
    assert record.getMessage() == (
        "job=team-scores state=running batches=30 rows=1200000 rows_per_second=40000.0 "
        "last_batch_seconds=1.0 watermark=2026-07-24T13:33:07.600000+00:00 "
        "watermark_lag_seconds=12.4 state_rows=123456 state_bytes=45123456 "
        "late=90 late_by_step=aggregate-1:30,aggregate-2:60 "
        "rejected=60 rejected_by_step=parse:60 lost=0 ahead=0 restarts=0 "
        "written=totals:3030,best:90"
    )
    assert record.millstream == {"job": "team-scores", **BUSY.to_dict()}
    json.dumps(record.millstream)


def test_values_with_blanks_and_quotes_are_quoted(lines):
    view = LogView('the "big" one')
    view.show(progress_of(batch(written={"per key": 1})))
    view.say("a = b")
    first, second = lines.messages
    assert first.startswith('job="the \\"big\\" one" state=running')
    assert first.endswith('written="per key:1"')
    assert second.endswith('message="a = b"')


def test_a_failure_is_an_error(lines):
    LogView("j").show(progress_of(batch(), state="failed"))
    assert [record.levelname for record in lines.records] == ["ERROR"]


def test_each_batch_has_a_line_but_no_more_than_one_a_second(lines, clock):
    view = LogView("j", clock)
    reports = [batch(number) for number in range(31)]
    for number in range(31):
        clock.now = number / 10
        view.show(progress_of(*reports[: number + 1]))
        view.show(progress_of(*reports[: number + 1]))
    assert [record.millstream["batches"] for record in lines.records] == [1, 11, 21, 31]


def test_a_batch_without_a_line_gets_it_a_little_later(lines, clock):
    view = LogView("j", clock)
    view.show(progress_of(batch(0)))
    for clock.now in (0.5, 0.9, 1.1, 5.0):
        view.show(progress_of(batch(0), batch(1)))
    assert [record.millstream["batches"] for record in lines.records] == [1, 2]


def test_batches_that_bring_nothing_have_a_line_now_and_then(lines, clock):
    view = LogView("j", clock)
    for second in range(61):
        clock.now = second
        view.show(progress_of(*(batch(n, rows=0, written={"a": 0}) for n in range(second + 1))))
    assert [record.millstream["batches"] for record in lines.records] == [1, 31, 61]


@pytest.mark.parametrize(
    "change",
    [
        progress_of(batch(0), batch(1, late={"x": 1})),
        progress_of(batch(0), batch(1, rejected={"x": 1})),
        progress_of(batch(0), state="stopping"),
        progress_of(batch(0), batch(1), state="finished"),
    ],
    ids=["late", "rejected", "stopping", "the last one"],
)
def test_some_changes_have_a_line_at_once(lines, clock, change):
    view = LogView("j", clock)
    view.show(progress_of(batch(0)))
    view.show(change)
    assert len(lines.records) == 2


def without_logging(monkeypatch):
    """From here on as in a program that does not set up logging; pytest itself does."""
    monkeypatch.setattr(logging.root, "handlers", [])


def test_where_nobody_set_up_logging_lines_go_to_standard_error(monkeypatch, capsys):
    without_logging(monkeypatch)
    with LogView("j") as view:
        view.show(PLAIN)
    line = capsys.readouterr().err
    assert re.match(r"\d{4}-\d\d-\d\d [\d:,]+ job=j state=running batches=1 ", line)
    logger = logging.getLogger("millstream.job")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)


def test_a_level_that_was_set_is_kept_without_handlers_too(monkeypatch, capsys, caplog):
    caplog.set_level(logging.ERROR, logger="millstream")
    without_logging(monkeypatch)
    with LogView("j") as view:
        view.show(PLAIN)
        view.show(progress_of(batch(), state="failed"))
    [line] = capsys.readouterr().err.splitlines()
    assert "state=failed" in line


def test_where_logging_is_set_up_nothing_is_added(capsys):
    file = io.StringIO()
    handler = logging.StreamHandler(file)
    logger = logging.getLogger("millstream")
    logger.addHandler(handler)
    try:
        with LogView("j") as view:
            view.show(PLAIN)  # below the level WARNING of a fresh set-up
            view.show(progress_of(batch(), state="failed"))
    finally:
        logger.removeHandler(handler)
    assert [line.split()[1] for line in file.getvalue().splitlines()] == ["state=failed"]
    assert capsys.readouterr().err == ""


# --- which view


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
