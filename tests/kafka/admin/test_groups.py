"""Consumer groups are listed, described, reset and deleted."""

from __future__ import annotations

import pytest

from millstream.kafka.admin.groups import delete_group, describe_group, list_groups, reset_group
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import BEGINNING, Position
from millstream.model.errors import KafkaError, PlanError
from topics import new_topic, put


@pytest.fixture
def topic(broker) -> str:
    topic = new_topic(broker.servers, 2)
    put(broker.servers, topic, "abcde", partition=0)
    return topic


def lags(connection, group):
    return [(each.partition, each.lag) for each in describe_group(connection, group).partitions]


def test_a_group_is_created_by_a_reset_that_is_executed(broker, topic):
    connection, group = Connection(broker.servers), f"group-of-{topic}"
    for execute in (False, True):
        moves = reset_group(connection, group, {topic: []}, to=BEGINNING, execute=execute)
        assert [(m.partition, m.before, m.after) for m in moves] == [(0, None, 0), (1, None, 0)]
        assert (group in [each.name for each in list_groups(connection)]) is execute
    assert lags(connection, group) == [(0, 5), (1, 0)]
    assert describe_group(connection, group).state == "Empty"


def test_a_group_is_shifted_within_its_partitions(broker, topic):
    connection, group = Connection(broker.servers), f"group-of-{topic}"
    reset_group(connection, group, {topic: [0]}, to=Position("offset", 3), execute=True)
    (move,) = reset_group(connection, group, {}, shift=-2, execute=True)
    assert (move.before, move.after) == (3, 1)
    (move,) = reset_group(connection, group, {}, shift=100)
    assert (move.before, move.after) == (1, 5)
    with pytest.raises(PlanError, match="MS113: .* has no offset in .*:1"):
        reset_group(connection, group, {topic: [1]}, shift=1)


def test_a_group_with_members_cannot_be_changed(broker, topic):
    connection, group = Connection(broker.servers), f"group-of-{topic}"
    consumer = connection.consumer({"group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        assert consumer.consume(1, 60)
        described = describe_group(connection, group)
        assert len(described.members) == 1
        assert {each.member for each in described.partitions} == {*described.members}
        with pytest.raises(KafkaError, match="MS325"):
            delete_group(connection, group)
        with pytest.raises(KafkaError, match="MS325"):
            reset_group(connection, group, {topic: []}, to=BEGINNING)
    finally:
        consumer.close()
    delete_group(connection, group)
    with pytest.raises(KafkaError, match="MS324"):
        describe_group(connection, group)
