"""Where a job begins, has come to and ends in its topics: no Spark."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import topics
from millstream.kafka.admin.groups import describe_group
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import topic_names
from millstream.kafka.client.positions import BEGINNING, END
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import MARKERS, prepare_markers
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import transactions
from millstream.model.errors import PlanError
from millstream.plan.positions import Position
from millstream.spark.sources.kafka import Positions


def test_a_pattern_is_not_for_the_topics_that_kafka_and_millstream_keep(broker, opened):
    connection, own = Connection(broker.servers), topics.new_topic(broker.servers)
    prepare_markers(connection, 1)
    slice = KafkaSlice(connection, own, f"group-{own}", 0)
    transactions().write(slice, 0, [Records(["in a transaction"])])
    assert {MARKERS, "__transaction_state"} <= {*topic_names(connection, internal=True)}
    (found,) = opened(None, pattern=".*")
    assert own in found.partitions
    assert not [name for name in found.partitions if name.startswith("__") or name == MARKERS]


@pytest.mark.parametrize("what", ["start", "until"])
def test_an_offset_beyond_the_end_is_refused_with_what_is_there(broker, opened, what):
    topic = topics.new_topic(broker.servers, 2)
    topics.put(broker.servers, topic, ["a", "b"], 0)
    opened(topic, **{what: {0: 2, 1: 0}})
    with pytest.raises(PlanError, match=f"MS113.*{what} has offset 5.*which ends at 2"):
        opened(topic, **{what: {0: 5}})


def test_a_position_is_an_offset_in_each_partition(broker, opened):
    topic = topics.new_topic(broker.servers, 2)
    topics.put(broker.servers, topic, ["a", "b", "c"], 0)
    topics.put(broker.servers, topic, ["d"], 1)
    (found,) = opened(topic)

    def at(**start):
        (source,) = opened(topic, **start)
        return [source.offsets(source.source.start, BEGINNING)[topic, n] for n in (0, 1)]

    assert at(start="earliest") == [0, 0]
    assert at(start="latest") == [3, 1]
    assert at(start={0: 2}) == [2, 0]
    assert at(start="1970-01-01T00:00:01Z") == [0, 0]
    assert at(start="2200-01-01T00:00:00Z") == [3, 1], "where nothing is as new, it is the end"
    assert found.offsets(Position("offsets", offsets=((topic, 1, 0),)), END)[topic, 0] == 3


def test_the_group_tells_of_its_own_topics_though_a_frame_reads_others(broker, opened):
    ours, others = topics.new_topic(broker.servers), topics.new_topic(broker.servers)
    topics.put(broker.servers, ours, ["a", "b", "c"])
    reports = [{others: {"0": 7}}, {"logOffset": 4}, {ours: {"0": 2}}, {others: {"0": 8}}]
    done = SimpleNamespace(
        batchId=0, sources=[SimpleNamespace(endOffset=json.dumps(each)) for each in reports]
    )
    positions = Positions(f"job-of-{ours}", opened(ours))
    positions.follow(SimpleNamespace(lastProgress=done), 0)
    positions.close()
    (partition,) = describe_group(Connection(broker.servers), f"job-of-{ours}").partitions
    assert (partition.topic, partition.offset, partition.lag) == (ours, 2, 1)
