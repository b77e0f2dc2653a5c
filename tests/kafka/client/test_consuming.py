"""When a member of a group has nothing to wait for."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicPartition

from millstream.kafka.client.consuming import _others_have

STABLE, UNSETTLED = ConsumerGroupState.STABLE, ConsumerGroupState.PREPARING_REBALANCING
PLACES = [TopicPartition("scores", 0), TopicPartition("scores", 1)]


def others_have(described: Future) -> bool:
    admin = SimpleNamespace(describe_consumer_groups=lambda names: dict.fromkeys(names, described))
    consumer = SimpleNamespace(memberid=lambda: "own")
    return _others_have(SimpleNamespace(admin=admin), "totals", consumer, PLACES)


@pytest.mark.parametrize(
    ("state", "members", "expected"),
    [
        (STABLE, {"own": [], "other": PLACES}, True),
        (STABLE, {"own": [], "one": PLACES[:1], "two": PLACES[1:]}, True),
        (STABLE, {"own": [], "other": PLACES[:1]}, False),  # it hands over the second
        (STABLE, {"own": PLACES[1:], "other": PLACES[:1]}, False),
        (STABLE, {"other": PLACES}, False),  # they have not heard of us yet
        (UNSETTLED, {"own": [], "other": PLACES}, False),
    ],
)
def test_others_have_all_once_the_group_has_settled(state, members, expected):
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
    assert others_have(described) is expected


def test_a_group_that_is_not_there_yet_is_waited_for():
    described: Future = Future()
    described.set_exception(KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND)))
    assert others_have(described) is False
