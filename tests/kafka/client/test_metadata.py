"""What a cluster reports about its topics, also of some that are deleted meanwhile."""

from __future__ import annotations

import pytest

from millstream.kafka.client import metadata
from millstream.kafka.client.connection import Connection
from millstream.model.errors import KafkaError, PlanError
from topics import create_again, new_topic


def test_a_topic_that_is_deleted_after_it_was_listed_is_omitted(
    broker, monkeypatch: pytest.MonkeyPatch
):
    existing = new_topic(broker.servers)
    listed = metadata.cluster_topics

    def with_one_that_was_deleted(connection: Connection):
        return {**listed(connection), "deleted": None}

    monkeypatch.setattr(metadata, "cluster_topics", with_one_that_was_deleted)
    names = metadata.topic_names(Connection(broker.servers))
    assert existing in names
    assert "deleted" not in names


def test_the_partitions_of_a_topic_are_all_or_those_that_are_named(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers, 3)
    assert [p.partition for p in metadata.partitions_of(connection, topic)] == [0, 1, 2]
    assert [p.partition for p in metadata.partitions_of(connection, topic, [2, 0])] == [0, 2]
    with pytest.raises(PlanError, match="MS113: .* has no partition 3(?s:.)*from 0 to 2"):
        metadata.partitions_of(connection, topic, [3])


def test_a_topic_that_does_not_exist_is_an_error_that_names_similar_ones(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    with pytest.raises(KafkaError, match="MS321") as caught:
        metadata.partitions_of(connection, f"{topic}x")
    assert f"did you mean {topic!r}" in caught.value.fix


def test_a_topic_that_is_created_again_has_another_id(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    before = metadata.topic_ids(connection, [topic, "missing"])
    create_again(broker.servers, topic)
    after = metadata.topic_ids(connection, [topic, "missing"])
    assert before.keys() == after.keys() == {topic}
    assert before != after


def test_the_longest_batch_is_a_setting_of_the_topic(broker):
    topic = new_topic(broker.servers, max_message_bytes="5000")
    assert metadata.longest_batch(Connection(broker.servers), topic) == 5000
    assert metadata.longest_batch(Connection(broker.servers), "missing") is None
