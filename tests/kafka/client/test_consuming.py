"""Consuming from a position to the end, alone or in a group."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicPartition

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.consuming import _all_taken_by_others, consume
from millstream.kafka.client.positions import BEGINNING, Position
from millstream.model.errors import PlanError
from topics import new_topic, put

STABLE, UNSETTLED = ConsumerGroupState.STABLE, ConsumerGroupState.PREPARING_REBALANCING
PLACES = [TopicPartition("scores", 0), TopicPartition("scores", 1)]


def taken(described: Future) -> bool:
    admin = SimpleNamespace(describe_consumer_groups=lambda names: dict.fromkeys(names, described))
    consumer = SimpleNamespace(memberid=lambda: "own")
    return _all_taken_by_others(SimpleNamespace(admin=admin), "totals", consumer, PLACES)


@pytest.mark.parametrize(
    ("state", "members", "expected"),
    [
        (STABLE, {"own": [], "other": PLACES}, True),
        (STABLE, {"own": [], "one": PLACES[:1], "two": PLACES[1:]}, True),
        (STABLE, {"own": [], "other": PLACES[:1]}, False),  # it is about to release the second
        (STABLE, {"own": PLACES[1:], "other": PLACES[:1]}, False),
        (STABLE, {"other": PLACES}, False),  # we have not joined yet
        (UNSETTLED, {"own": [], "other": PLACES}, False),
    ],
)
def test_others_have_all_partitions_once_the_group_is_stable(state, members, expected):
    described: Future = Future()
    described.set_result(
        SimpleNamespace(
            state=state,
            members=[
                SimpleNamespace(member_id=name, assignment=SimpleNamespace(topic_partitions=places))
                for name, places in members.items()
            ],
        )
    )
    assert taken(described) is expected


def test_a_group_that_does_not_exist_yet_is_waited_for():
    described: Future = Future()
    described.set_exception(KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND)))
    assert taken(described) is False


def consumed(*arguments, **options) -> list[bytes | None]:
    return [r.value for batch in consume(*arguments, **options) for r in batch]


def test_records_are_read_from_a_position_to_the_end(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    put(broker.servers, topic, "abcde")
    for start, expected in (
        (BEGINNING, [b"a", b"b", b"c", b"d", b"e"]),
        (Position("offset", 3), [b"d", b"e"]),
        (Position("last", 2), [b"d", b"e"]),
    ):
        assert consumed(connection, topic, start=start, follow=False) == expected
    assert consumed(connection, topic, start=BEGINNING, count=2) == [b"a", b"b"]


def test_a_group_resumes_after_what_it_has_read(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    options = {"group": f"group-of-{topic}", "start": BEGINNING, "follow": False}
    put(broker.servers, topic, "ab")
    assert consumed(connection, topic, **options) == [b"a", b"b"]
    put(broker.servers, topic, "c")
    assert consumed(connection, topic, **options) == [b"c"]


def test_partitions_and_offsets_of_a_group_cannot_be_chosen(broker):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    for options in ({"start": Position("offset", 3)}, {"partitions": [0]}):
        with pytest.raises(PlanError, match="MS113: Kafka assigns"):
            consumed(connection, topic, group="totals", **options)
    with pytest.raises(PlanError, match="MS113: the group has no name"):
        consumed(connection, topic, group="")
