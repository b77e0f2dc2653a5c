"""Positions as people write them, and their offsets."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import Position, clamped, offsets_at, parse_position
from millstream.model.errors import PlanError
from topics import new_topic, put


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
    assert parse_position(text) == expected


def test_a_time_needs_a_zone():
    with pytest.raises(PlanError, match="MS118.*(?s:.)*with its zone"):
        parse_position("2026-07-01T12:00:00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", [0, 0]),
        ("end", [3, 1]),
        ("2", [2, 1]),
        ("-2", [1, 0]),
        ("1970-01-01T00:00:00Z", [0, 0]),
        ("2100-01-01T00:00:00Z", [3, 1]),
    ],
)
def test_a_position_has_an_offset_in_each_partition(broker, text, expected):
    topic = new_topic(broker.servers, 2)
    put(broker.servers, topic, "abc", partition=0)
    put(broker.servers, topic, "d", partition=1)
    places = [TopicPartition(topic, number) for number in range(2)]
    offsets = offsets_at(Connection(broker.servers).admin, places, parse_position(text))
    assert [offsets[place] for place in places] == expected


def test_an_offset_outside_of_a_partition_is_moved_to_the_nearest():
    place = TopicPartition("scores", 0)
    for at, nearest in ((1, 5), (5, 5), (7, 7), (9, 9), (12, 9)):
        assert clamped({place: at}, {place: 5}, {place: 9}) == {place: nearest}
