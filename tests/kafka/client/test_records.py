"""What may be said of a record that is to be written."""

from __future__ import annotations

import json

import pytest

from millstream.kafka.client.producing import Lines
from millstream.kafka.client.records import timestamp_of
from millstream.model.errors import KafkaError, PlanError


def told(**fields):
    """The error for a line that holds these fields."""
    with pytest.raises(KafkaError) as error:
        list(Lines(json=True).records([json.dumps({"value": "a"} | fields).encode()]))
    assert error.value.code == "MS326"
    return error.value.what


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_a_header_that_the_client_cannot_name_is_refused(name):
    assert f"line 1 cannot be read, the name {name!r} of a header is no text" in told(
        headers={name: "x"}
    )


@pytest.mark.parametrize("partition", [2**31, -1, 1.0, True, "0"])
def test_a_partition_is_a_number_of_32_bits(partition):
    assert f"the partition {partition!r} is no whole number from 0 to 2147483647" in told(
        partition=partition
    )


@pytest.mark.parametrize("at", [0, -1, 2**63, 1.5, True, "1960-01-01T00:00:00Z"])
def test_a_timestamp_is_later_than_1970(at):
    assert f"the timestamp {at!r} is not 1 to 9223372036854775807" in told(timestamp=at)
    with pytest.raises(PlanError, match="MS118"):
        timestamp_of(at)


def test_the_first_and_the_last_timestamp_can_be_written():
    assert timestamp_of("1970-01-01T00:00:00.001Z") == 1
    assert timestamp_of(2**63 - 1) == 2**63 - 1


def test_a_value_may_be_nested_too_deep():
    line = b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(KafkaError, match="MS326: line 1 cannot be read, maximum recursion depth"):
        list(Lines(json=True).records([line]))
