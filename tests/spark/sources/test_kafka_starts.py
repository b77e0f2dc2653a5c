"""Where a job begins in its topics is found once; no Spark."""

from __future__ import annotations

import json

import topics
from millstream.spark.sources.kafka_starts import kept_starts, starts_of
from millstream.system.folders import Folder


def starts(opened, topic, folder, **how):
    (found,) = opened(topic, **how)
    return starts_of({topic: found}, str(folder))[topic]


def test_a_job_that_is_resumed_begins_where_it_did(broker, opened, tmp_path):
    topic = topics.new_topic(broker.servers)
    topics.put(broker.servers, topic, ["a", "b"])
    assert starts(opened, topic, tmp_path, start="latest") == {(topic, 0): 2}
    topics.put(broker.servers, topic, ["c"])
    assert starts(opened, topic, tmp_path, start="latest") == {(topic, 0): 2}
    assert kept_starts(Folder.of("checkpoint", str(tmp_path))) == {topic: {(topic, 0): 2}}


def test_what_sparks_own_source_has_noted_counts(broker, opened, tmp_path):
    """So does a checkpoint from when Spark itself read the records."""
    topic = topics.new_topic(broker.servers)
    topics.put(broker.servers, topic, ["a", "b"])
    note = tmp_path / "spark/sources/0/0"
    note.parent.mkdir(parents=True)
    note.write_text("v1\n" + json.dumps({topic: {"0": 1}}))
    assert starts(opened, topic, tmp_path, start="earliest") == {(topic, 0): 1}


def test_bounded_reads_need_none(broker, opened, tmp_path):
    topic = topics.new_topic(broker.servers)
    (found,) = opened(topic, until="latest")
    assert starts_of({topic: found}, str(tmp_path)) == {}
    assert not list(tmp_path.iterdir())
