"""A running job in a terminal."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from job_reports import BUSY, NOW, PLAIN, STARTING, Terminal, batch, progress_of
from millstream.jobs.panel import LiveView
from millstream.model.instants import END_OF_TIME
from millstream.reports.progress import BatchReport
from millstream.reports.tracker import Tracker


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


@pytest.mark.parametrize("width", [50, 80, 200])
@pytest.mark.parametrize("progress", [STARTING, PLAIN, BUSY], ids=["starting", "plain", "busy"])
def test_the_panel_fits_the_terminal_with_room_for_the_echo_of_ctrl_c(progress, width):
    for line in drawn(progress, width).splitlines():
        assert len(line.rstrip()) <= min(width - 2, 76)


def test_the_panel_shows_that_a_job_starts():
    panel = drawn(STARTING)
    assert "─ team-scores ─" in panel
    assert "starting Spark …" in panel
    assert len(panel.splitlines()) == 3


def test_the_panel_shows_that_the_first_batch_is_under_way():
    assert "running · the first batch is running" in drawn(progress_of())


@pytest.mark.parametrize("width", [50, 80])
def test_the_panel_shows_everything_about_a_busy_job(width):
    panel = " ".join(drawn(BUSY, width).replace("│", " ").split())
    for expected in (
        "running · 30 batches, the last in 1.0s",
        "rows 1,200,000 · 40,000 rows/s ▁▅█▁▅█",
        "watermark 13:33:07 UTC, 12s behind",
        "state 123,456 rows (45.1 MB)",
        "late 90 (30 in 'aggregate-1' and 60 in 'aggregate-2')",
        "rejected 60 in 'parse'",
        "written 3,030 to totals 90 to best 0 to a-sink-with",
        "Ctrl-C stops it after the current batch",
    ):
        assert expected in panel


def test_the_panel_gives_the_date_of_a_watermark_of_another_day():
    panel = drawn(progress_of(batch(watermark=int((NOW - 90_000) * 1e6))))
    assert "2026-07-23 12:33 UTC, 1d1h behind" in panel


def test_the_panel_shows_that_the_input_has_ended():
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


def test_what_ought_to_be_zero_is_highlighted_when_it_is_not():
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
        view.announce("finished: all of it")
    assert "team-scores\x1b[0m finished: all of it\n" in file.getvalue()
    # Every line that was drawn is erased, and the cursor is back.
    assert file.getvalue().rstrip().endswith("\x1b[2K")
    assert file.getvalue().index("\x1b[?25l") < file.getvalue().index("\x1b[?25h")
