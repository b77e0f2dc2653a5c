"""What is in the cells of a printed batch."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from millstream.sinks.console.cells import brief

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("", ""),
        ("two\nlines\t\x1b[31mred\x9b", "two\\nlines\\t\\x1b[31mred\\x9b"),
        ("[red]:smile:", "[red]:smile:"),
        (True, "true"),
        (1.0, "1.0"),
        (Decimal("1.50"), "1.50"),
        (b"\x00\xff", "0x00ff"),
        (NOON, "2024-05-01 12:00:00"),
        (NOON.replace(microsecond=1500), "2024-05-01 12:00:00.0015"),
        (date(2024, 5, 1), "2024-05-01"),
        ([1, [None]], "[1, [null]]"),
        ({"a": {"b\n": "x"}}, "{a: {b\\n: x}}"),
    ],
)
def test_values_are_brief(value, text):
    assert brief(value) == text
