"""A running job in a log."""

from __future__ import annotations

import io
import json
import logging
import re

import pytest

from job_reports import BUSY, PLAIN, batch, progress_of
from millstream.jobs.log_lines import LogView


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
    view.announce("a = b")
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


def test_without_configured_logging_lines_go_to_standard_error(monkeypatch, capsys):
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
