"""Markers show which batch of a slice was written last."""

from __future__ import annotations

import pytest

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.delivery.markers import (
    FEWEST,
    MARKERS,
    is_written,
    marker_after,
    prepare_markers,
    read_marker,
)
from millstream.model.errors import KafkaError


def test_the_topic_of_the_markers_grows_with_the_slices(broker):
    connection = Connection(broker.servers)
    prepare_markers(connection, 8)
    assert len(partitions_of(connection, MARKERS)) >= FEWEST
    prepare_markers(connection, 60)
    assert len(partitions_of(connection, MARKERS)) >= 60


def test_a_slice_that_was_never_written_has_the_marker_of_the_first_batch(slice, markers):
    assert read_marker(markers, slice.number) == 0


def test_a_marker_that_was_committed_is_read_back(slice, markers):
    markers.commit(offsets=[marker_after(4, slice.number)], asynchronous=False)
    assert read_marker(markers, slice.number) == 5


@pytest.mark.parametrize(("marker", "written"), [(0, False), (3, False), (4, True)])
def test_a_batch_is_written_if_the_marker_is_after_it(marker, written):
    assert is_written("totals", batch=3, marker=marker) is written


def test_a_batch_before_the_newest_is_refused():
    with pytest.raises(KafkaError, match="MS351: batch 3 .* which has batch 4 of this job"):
        is_written("totals", batch=3, marker=5)
