"""Lines as records, and lines that cannot be read."""

from __future__ import annotations

import json

import pytest

from millstream.kafka.client.lines import Lines
from millstream.model.errors import KafkaError


def line_error(**fields):
    """The error for a line with these fields."""
    with pytest.raises(KafkaError) as error:
        list(Lines(json=True).records([json.dumps({"value": "a"} | fields).encode()]))
    assert error.value.code == "MS326"
    return error.value.what


def test_the_text_for_null_is_no_key_and_no_value():
    lines = Lines(key_separator=b":", null=b"NULL")
    records = list(lines.records([b"NULL:5\n", b"ann:NULL\n", b":\n"]))
    assert [(r.key, r.value) for r in records] == [(None, b"5"), (b"ann", None), (b"", b"")]


def test_only_the_end_of_a_line_is_removed():
    assert [r.value for r in Lines().records([b" a \r\n", b"b\r\r\n", b"c"])] == [
        b" a ", b"b\r", b"c",
    ]  # fmt: skip


def test_keys_and_values_may_be_in_hex():
    (record,) = Lines(key_separator=b":", encoding="hex").records([b"00ff:6f6b\n"])
    assert (record.key, record.value) == (b"\x00\xff", b"ok")
    with pytest.raises(KafkaError, match="MS326: line 2 cannot be read"):
        list(Lines(encoding="hex").records([b"00\n", b"0\n"]))


def test_a_separator_may_be_bytes_that_are_not_text():
    lines = Lines(key_separator=b"\xff")
    [record] = lines.records([b"a\xffb"])
    assert (record.key, record.value) == (b"a", b"b")
    with pytest.raises(KafkaError, match="MS326: line 1 cannot be read, it has no key separator"):
        list(lines.records([b"ab"]))


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_a_header_that_the_client_cannot_name_is_an_error(name):
    assert f"line 1 cannot be read, the name {name!r} of a header is not text" in line_error(
        headers={name: "x"}
    )


@pytest.mark.parametrize("partition", [2**31, -1, 1.0, True, "0"])
def test_a_partition_is_a_number_of_32_bits(partition):
    assert f"the partition {partition!r} is not a whole number from 0 to 2147483647" in line_error(
        partition=partition
    )


def test_a_value_may_be_nested_too_deep():
    line = b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(KafkaError, match="MS326: line 1 cannot be read, maximum recursion depth"):
        list(Lines(json=True).records([line]))
