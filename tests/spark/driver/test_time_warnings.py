"""Warnings about event times that look wrong, and splits that hold the watermark."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from pyspark.sql import Row

from millstream.reports.progress import Split
from millstream.spark.driver.time_warnings import EVERY, TimeWarnings

AHEAD = Row(kind="count", node="times", split="ahead", value=3, start=10**15, payload=b"split '1'")


def test_times_ahead_of_the_clock_are_reported_once_a_minute(caplog):
    warnings = TimeWarnings()
    with caplog.at_level(logging.WARNING, "millstream.job"):
        for now in (0.0, 1.0, EVERY):
            warnings.of([AHEAD, AHEAD], now)
    assert len(caplog.records) == 2
    assert "6 rows in 'times'" in caplog.messages[0]
    assert "split '1'" in caplog.messages[0]


def test_numbers_that_look_like_another_unit_are_reported_once_a_minute(caplog):
    about = b"ts = 1763400061 as milliseconds is in 1970, and looks like seconds: write unit='s'"
    seconds = Row(kind="count", node="times", split="unit", value=2, start=0, payload=about)
    warnings = TimeWarnings()
    with caplog.at_level(logging.WARNING, "millstream.job"):
        for now in (0.0, 1.0):
            warnings.of([seconds, seconds], now)
    (message,) = caplog.messages
    assert message.startswith("4 rows in 'times' with times of another unit, it seems: ts = 17634")
    assert message.endswith("looks like seconds: write unit='s'")


def test_a_callback_that_takes_over_a_second_for_a_key_is_named(caplog):
    def call(longest: int) -> Row:
        key = b"{'user': 'ann'}"
        return Row(
            kind="count", node="silent", split="call on_row", value=9, start=longest, payload=key
        )

    with caplog.at_level(logging.WARNING, "millstream.job"):
        TimeWarnings().of([call(900_000)], 0.0)
        assert caplog.messages == []
        TimeWarnings().of([call(900_000), call(3_000_000)], 0.0)
    (message,) = caplog.messages
    assert message.startswith("on_row in 'silent' took 3s for key {'user': 'ann'}: ")


def test_a_silent_split_that_holds_the_watermark_is_named(caplog):
    def splits(second):
        at = datetime(2024, 1, 1, tzinfo=UTC)
        later = datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC)
        return [Split("calls", "slow", at, False), Split("calls", "quick", later, False)]

    warnings = TimeWarnings()
    with caplog.at_level(logging.WARNING, "millstream.job"):
        assert warnings.of_splits(splits(1), now=0.0) is None
        assert "'slow' of 'calls'" in (warnings.of_splits(splits(2), now=EVERY) or "")
    assert "the watermark waits for split 'slow'" in caplog.text


def test_no_split_is_waited_for_if_all_others_are_idle():
    at = datetime(2024, 1, 1, tzinfo=UTC)
    warnings = TimeWarnings()
    splits = [Split("calls", "one", at, False), Split("calls", "two", at, True)]
    warnings.of_splits(splits, now=0.0)
    assert warnings.of_splits(splits, now=2 * EVERY) is None
