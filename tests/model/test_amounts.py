"""Amounts as people read them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.model.amounts import counted, length_in_words


def test_one_thing_is_no_plural_and_thousands_are_set_apart():
    assert [counted(n, "row") for n in (0, 1, 2, 12_000)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "12,000 rows",
    ]


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(seconds=59.9), "59s"),
        (timedelta(minutes=3, seconds=20), "3m20s"),
        (timedelta(hours=2, minutes=5, seconds=9), "2h5m"),
        (timedelta(days=29, hours=23), "29d23h"),
        (timedelta(days=40, hours=23), "40d"),
        (timedelta(days=365.25 * 56), "56 years"),
    ],
)
def test_a_length_of_time_has_at_most_two_units(length, words):
    assert length_in_words(length) == words
