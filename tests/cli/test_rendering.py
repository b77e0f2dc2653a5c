"""Records that a format has not been written for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.cli.rendering import Parts, by_format
from millstream.kafka.client.records import Record
from millstream.model.errors import PlanError

RECORD = Record("scores", 1, 7, 60_000, "CreateTime", (), b"ann", b"5")


@pytest.mark.parametrize(
    ("at", "shown"), [(None, b"none"), (253_402_300_800_000, b"253402300800000"), (60_000, b"01")]
)
def test_a_time_that_no_calendar_has_is_written_as_it_is(at, shown):
    record = replace(RECORD, timestamp=at)
    assert by_format(Parts(), "{value} {timestamp:%M}")(record) == b"5 " + shown
    assert by_format(Parts(), "{value}")(record) == b"5"


@pytest.mark.parametrize("text", ["{value[0]}", "{timestamp.year}"])
def test_a_record_that_the_format_does_not_fit_is_an_error_that_names_it(text):
    write = by_format(Parts(), text)
    with pytest.raises(PlanError, match="MS113: the format cannot be used at offset 7 of scores-1"):
        write(replace(RECORD, value=b"", timestamp=None))


def test_the_text_for_null_may_be_any_bytes():
    write = by_format(Parts(null="\udcff"), "{key}")  # as Python reads the byte from a command line
    assert write(replace(RECORD, key=None)) == b"\xff"
