"""Topics are created, described, changed and deleted."""

from __future__ import annotations

import pytest

from millstream.kafka.admin.topics import (
    add_partitions,
    alter_topic,
    create_topic,
    delete_records,
    delete_topic,
    describe_topics,
)
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import topic_names
from millstream.kafka.client.positions import Position
from millstream.model.errors import KafkaError
from topics import new_topic, put
from waiting import until


def test_a_topic_is_described_with_its_partitions_and_its_own_settings(broker):
    connection = Connection(broker.servers)
    topic = new_topic(broker.servers, 2, retention_ms="1000")
    put(broker.servers, topic, "abc", partition=1)
    (found,) = describe_topics(connection, [topic])
    assert (found.name, found.internal, found.replication) == (topic, False, 1)
    assert found.settings == {"retention.ms": "1000"}
    offsets = [(each.number, each.start, each.end, each.size) for each in found.partitions]
    assert offsets == [(0, 0, 0, None), (1, 0, 3, None)]
    assert [each.leader for each in found.partitions] == [1, 1]


def test_settings_are_set_and_reset(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)

    def settings():
        return describe_topics(connection, [topic])[0].settings

    alter_topic(connection, topic, set_={"cleanup.policy": "compact"})
    until(lambda: settings() == {"cleanup.policy": "compact"})
    alter_topic(connection, topic, unset=["cleanup.policy"])
    until(lambda: settings() == {})


def test_records_before_a_position_are_deleted(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    put(broker.servers, topic, "abc")
    assert delete_records(connection, topic, Position("offset", 2)) == {0: 2}
    assert describe_topics(connection, [topic])[0].partitions[0].start == 2


def test_partitions_are_only_added(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    add_partitions(connection, topic, 3)
    until(lambda: len(describe_topics(connection, [topic])[0].partitions) == 3)
    with pytest.raises(KafkaError, match="MS323: .*INVALID_PARTITIONS"):
        add_partitions(connection, topic, 2)


def test_a_topic_that_exists_is_not_created_again(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    with pytest.raises(KafkaError, match="MS323: .*TOPIC_ALREADY_EXISTS"):
        create_topic(connection, topic)


def test_a_topic_that_was_deleted_cannot_be_changed(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    delete_topic(connection, topic)
    until(lambda: topic not in topic_names(connection))
    for change in (delete_topic, alter_topic):
        with pytest.raises(KafkaError, match="MS321"):
            change(connection, topic)
