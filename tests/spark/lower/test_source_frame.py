"""What Spark reads of a source becomes the first wide frame of its stage."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.engine.rows import PLACE, SPLIT
from millstream.kafka.client.connection import Connection
from millstream.spark.lower.source_frame import has_splits, source_frame
from millstream.spark.sources.kafka import Topics
from millstream.spark.sources.kafka_frame import TopicFrame
from millstream.spark.sources.kafka_records import OFFSET_COLUMN, REJECTED_COLUMN
from millstream.spark.worker.envelopes import NAMES
from millstream.testing import test_stream
from programs import lowering_of


def made_of(spark, stream, columns, **how):
    """The wide frame of the source of a stream, of which Spark reads a frame of these columns."""
    made = lowering_of(stream.collect("all"), **how)
    (source,) = made.plan.sources
    frame = spark.createDataFrame([], columns)
    return made, source_frame(made, source, frame)


def test_columns_have_names_of_their_own_and_their_types_are_noted(spark):
    stream = ms.from_rows([], "`a b` string, n int", name="rows")
    made, wide = made_of(spark, stream, "`a b` string, n bigint")
    ((instance, columns),) = wide.steps.items()
    assert list(columns.columns) == ["a b", "n"]
    assert wide.frame.columns == list(columns.columns.values())
    assert made.types[instance].simpleString() == "struct<a b:string,n:bigint>"


def test_a_column_that_splits_a_source_travels_as_text(spark):
    frame = spark.createDataFrame([], "host int, n int")
    made, wide = made_of(spark, ms.from_dataframe(frame, split="host"), "host int, n int")
    assert wide.frame.schema[SPLIT].dataType.simpleString() == "string"
    assert has_splits(made.plan.sources[0])


def test_of_files_that_python_loads_spark_reads_no_more_than_names(spark):
    files = ms.read_files("/data", "json", "n int", name="files")
    _, wide = made_of(spark, files, "path string")
    ((_, columns),) = wide.steps.items()
    assert list(columns.columns) == ["path"]


KAFKA = (
    f"value binary, key binary, topic string, partition int, offset bigint, timestamp timestamp, "
    f"`{SPLIT}` int, `{OFFSET_COLUMN}` bigint"
)


@pytest.mark.parametrize("ordered", [True, False])
def test_records_have_their_places_where_the_order_of_rows_counts(spark, ordered):
    scores = ms.read_kafka("scores", "n int", servers="x:1", name="scores")
    _, wide = made_of(spark, scores.key_by("n").changes() if ordered else scores, KAFKA)
    ((_, columns),) = wide.steps.items()
    assert (columns.place == PLACE) is ordered
    assert (PLACE in wide.frame.columns) is ordered
    assert SPLIT in wide.frame.columns


def test_records_that_spark_itself_rejects_have_a_flag(spark):
    texts = ms.read_kafka("scores", format="text", servers="x:1", name="scores")
    _, wide = made_of(
        spark, texts, f"{KAFKA.replace('value binary', 'value string')}, `{REJECTED_COLUMN}` string"
    )
    ((instance, columns),) = wide.steps.items()
    assert wide.rejected == {instance: REJECTED_COLUMN}
    assert columns.flag in wide.frame.columns


@pytest.fixture
def topic_frame(spark):
    """The wide frame of records that are read when it is known what happens to them."""

    def topic_frame(stream, apart=False):
        made = lowering_of(stream.collect("all"))
        (source,) = made.plan.sources
        topics = Topics(source, Connection("x:1"), {"scores": 2}, {"scores": "id"})
        read = TopicFrame(spark, topics, {}, None)
        return source_frame(made, source, read, apart)

    return topic_frame


def columns_of(wide):
    return [column for _, column in wide.read.columns_of]


def test_no_more_is_read_of_records_than_the_program_needs(topic_frame):
    scores = ms.read_kafka("scores", "n int", metadata="key", servers="x:1", name="scores")
    assert columns_of(topic_frame(scores)) == ["key", "split"]
    ordered = scores.key_by("n").changes()
    assert columns_of(topic_frame(ordered)) == ["key", "split", "place"]
    apart = columns_of(topic_frame(scores, apart=True))
    assert apart == ["value", "key", "partition", "offset", "timestamp", "split"]
    raw = ms.read_kafka("scores", format="raw", servers="x:1", name="scores")
    assert columns_of(topic_frame(raw))[-2:] == ["headers", "split"]


def test_text_that_is_none_is_flagged_where_it_is_read(topic_frame):
    texts = ms.read_kafka("scores", format="text", servers="x:1", name="scores")
    wide = topic_frame(texts)
    assert columns_of(wide) == ["text", "split", "rejected", "parsed"]
    ((_, columns),) = wide.steps.items()
    assert columns.flag == "__millstream_parsed"
    assert wide.read.schema[SPLIT].dataType.simpleString() == "int"


def test_a_replay_has_envelopes_beside_its_rows(spark):
    stream = test_stream("n int", name="rows")
    hidden = ", ".join(f"`__millstream_{name}` string" for name in NAMES)
    _, wide = made_of(spark, stream, f"n int, {hidden}")
    assert wide.carried == list(NAMES)
    assert set(NAMES) < set(wide.frame.columns)
