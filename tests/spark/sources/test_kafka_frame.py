"""What a program reads of topics, before and after it is known what happens to it."""

from __future__ import annotations

import topics
from millstream.kafka.client.positions import BEGINNING, END
from millstream.plan.positions import Position
from millstream.spark.sources.kafka_frame import TopicFrame, with_all_columns


def frame(spark, opened, topic, **how):
    (found,) = opened(topic, **how)
    ends = found.offsets(Position("latest"), END)
    return TopicFrame(spark, found, found.offsets(Position("earliest"), BEGINNING), ends)


def test_columns_can_be_chosen_and_are_then_read(spark, broker, opened):
    topic = topics.new_topic(broker.servers, 2)
    topics.put(broker.servers, topic, [("k", "a"), ("k", "b")], 0)
    topics.put(broker.servers, topic, [("l", "c")], 1)
    read = frame(spark, opened, topic, format="raw").with_columns_of(
        {"v": "value", "at": "offset", "from": "split"}
    )
    assert read.columns == ["v", "at", "from"]
    assert read.schema.simpleString() == "struct<v:binary,at:bigint,from:int>"
    less = read.only(["v", "from"])
    found = sorted((bytes(row.v), row["from"]) for row in less.loaded().collect())
    assert found == [(b"a", 0), (b"b", 0), (b"c", 1)]


def test_an_empty_topic_gives_no_rows(spark, broker, opened):
    read = frame(spark, opened, topics.new_topic(broker.servers), format="raw")
    assert read.with_columns_of({"v": "value"}).loaded().collect() == []


def test_what_is_copied_first_has_all_that_lowering_needs(spark, broker, opened):
    topic = topics.new_topic(broker.servers)
    texts = with_all_columns(frame(spark, opened, topic, format="text"))
    assert texts.columns == ["value", "__millstream_split", "__millstream_offset",
                             "__millstream_refused"]  # fmt: skip
    values = with_all_columns(frame(spark, opened, topic, format="json", schema="n int"))
    assert values.columns[:5] == ["value", "key", "partition", "offset", "timestamp"]
