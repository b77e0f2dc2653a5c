"""Output without a reader."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("command", ["topics list", "topics list --json", "topics describe"])
def test_a_reader_that_has_enough_is_no_error(start, new_topic, command):
    new_topic()
    process = start(*command.split())
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == b""


def test_a_failure_is_one_even_if_the_output_has_no_reader(start, new_topic, tmp_path):
    file = tmp_path / "lines"
    file.write_text('{"value": "a", "partition": 9}')
    process = start("produce", new_topic(), str(file), "--json-lines", "--json")
    process.stdout.close()
    assert process.wait(timeout=30) == 1
    assert b"MS327" in process.stderr.read()
