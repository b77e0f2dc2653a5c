"""Positions as people write them."""

from __future__ import annotations

import pytest

from millstream.kafka.client.positions import Position, position


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", Position("offset", 0)),
        ("-0", Position("last", 0)),
        ("-5", Position("last", 5)),
        ("1969-12-31T23:59:59Z", Position("timestamp", -1000)),
    ],
)
def test_a_sign_means_before_the_end(text, expected):
    assert position(text) == expected
