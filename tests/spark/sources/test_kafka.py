"""Where a job begins, has come to and ends in its topics: no Spark."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import topics
from millstream.kafka.admin.groups import describe_group
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import topic_names
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import MARKERS, prepare_markers
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import transactions
from millstream.model.errors import PlanError
from millstream.spark.sources.kafka import Positions, _options


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


def test_options_do_not_say_what_a_source_decides(broker, opened):
    topic = topics.new_topic(broker.servers)
    theirs = {"group.id": "theirs", "isolation.level": "read_uncommitted", "client.id": "theirs"}
    (found,) = opened(topic, options=theirs | {"auto.offset.reset": "latest"})
    options = _options(found, streaming=True)
    assert options["kafka.isolation.level"] == "read_committed"
    assert options["kafka.client.id"] == "theirs"
    assert not {"kafka.group.id", "kafka.auto.offset.reset"} & options.keys()


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
