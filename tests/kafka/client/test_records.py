"""Records as JSON, and which timestamps they may have."""

from __future__ import annotations

import pytest

from millstream.kafka.client.records import NewRecord, Record, from_json, record_timestamp, to_json
from millstream.model.errors import PlanError


@pytest.mark.parametrize("at", [0, -1, 2**63, 1.5, True, "1960-01-01T00:00:00Z"])
def test_a_timestamp_is_later_than_1970(at):
    with pytest.raises(PlanError, match=f"MS118: the timestamp {at!r} is not 1 to {2**63 - 1}"):
        record_timestamp(at)


def test_the_first_and_the_last_timestamp_can_be_written():
    assert record_timestamp("1970-01-01T00:00:00.001Z") == 1
    assert record_timestamp(2**63 - 1) == 2**63 - 1


@pytest.mark.parametrize("value", [b"text", "\u00e9\n".encode(), b"\xff\x00", b"", None])
def test_a_record_as_json_is_read_back(value):
    record = Record("scores", 3, 7, 1000, "CreateTime", (("n", b"1"), ("m", None)), b"ann", value)
    assert from_json(to_json(record).encode()) == NewRecord(
        value, b"ann", (("n", b"1"), ("m", None)), 1000, 3
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"5", 'not an object with a "value"'),
        (b'{"key": "ann"}', 'not an object with a "value"'),
        (b'{"value": "a", "encoding": "rot13"}', "'rot13' is not text, hex or base64"),
        (b'{"value": "a", "headers": ["n"]}', "neither an object nor a list"),
    ],
)
def test_what_is_not_a_record_is_an_error(line, reason):
    with pytest.raises(ValueError, match=reason):
        from_json(line)
