"""What Spark notes of a batch before it begins."""

from __future__ import annotations

import json

import pytest

from millstream.spark.compat.offset_log import OFFSETS, entry_of, is_entry, last_batch
from millstream.system.folders import Folder

ENTRY = 'v1\n{"batchTimestampMs":1700000000000}\n{"logOffset":3}\n-'


@pytest.fixture
def checkpoint(tmp_path):
    log = tmp_path / OFFSETS
    log.mkdir(parents=True)
    for batch in (2, 10):
        (log / str(batch)).write_text(ENTRY)
    (log / ".10.crc").write_text("")
    return Folder.of("checkpoint", str(tmp_path))


def test_an_entry_has_the_clock_of_its_batch_and_the_offsets_of_all_sources(checkpoint):
    entry = entry_of(checkpoint, 10)
    assert entry.clock == 1_700_000_000_000
    assert entry.offsets == ('{"logOffset":3}', "-")
    assert str(entry) == ENTRY


def test_the_newest_batch_is_that_of_the_highest_number(checkpoint):
    assert last_batch(checkpoint, OFFSETS) == 10


def test_half_an_entry_is_none():
    assert is_entry(ENTRY)
    assert not is_entry("v1")
    assert not is_entry("")
    with pytest.raises(json.JSONDecodeError):
        is_entry('v1\n{"batch')
