"""Amounts in words: how many of something, rows a second, lengths of time."""

from __future__ import annotations

from datetime import timedelta

from millstream.model.durations import format_duration


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1_204, "row"), counted(2, "batch", "batches")
    ('1 row', '1,204 rows', '2 batches')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def rate_in_words(rows_per_second: float) -> str:
    """Rows a second, with a decimal only for small rates.

    >>> rate_in_words(83_333.3), rate_in_words(2.5), rate_in_words(0)
    ('83,333 rows/s', '2.5 rows/s', '0 rows/s')
    """
    decimals = 1 if 0 < rows_per_second < 10 else 0
    return f"{rows_per_second:,.{decimals}f} rows/s"


def length_in_words(length: timedelta) -> str:
    """A length of time in at most two units.

    >>> length_in_words(timedelta(seconds=200.4)), length_in_words(timedelta(hours=30, minutes=1))
    ('3m20s', '1d6h')
    """
    if length >= timedelta(days=730):
        return f"{length // timedelta(days=365.25)} years"
    hour, day = timedelta(hours=1), timedelta(days=1)
    scales = ((hour, timedelta(seconds=1)), (day, timedelta(minutes=1)), (30 * day, hour))
    unit = next((unit for below, unit in scales if length < below), day)
    # Rounded down: a whole unit is shown once it has passed, as on a clock.
    return format_duration(length // unit * unit // timedelta(microseconds=1))
