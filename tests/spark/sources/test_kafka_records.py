"""Records of Kafka become record batches: no Spark."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import topics
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.ranges import Range, RangeReader
from millstream.spark.sources.kafka_records import (
    PARSED,
    PLACE,
    REJECTED,
    SPLIT,
    TEXT,
    RecordColumns,
    as_text,
    described,
)

PLACES = pa.struct([("origin", pa.string()), ("split", pa.string()), ("offset", pa.int64())])
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture
def records(broker):
    """The records of a topic, by a producer that writes them."""

    def records(write):
        topic = topics.new_topic(broker.servers)
        producer = Connection(broker.servers).producer({})
        write(lambda *given, **more: producer.produce(topic, *given, **more))
        assert producer.flush(30) == 0
        reader = RangeReader(Connection(broker.servers))
        wanted = Range(topic, 0, 0, 2)
        return wanted, [m for _, some in reader.read([wanted]) for m in some]

    return records


def test_each_column_has_what_it_says(records):
    def write(produce):
        produce(b"\x00\xff", "käse", timestamp=1234, headers=[("h", b"1"), ("h", None)])
        produce(None, None, timestamp=5678)

    wanted, messages = records(write)
    names = ("value", "key", "topic", "partition", "offset", "timestamp", "headers", SPLIT, PLACE)
    types = (
        pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64(),
        pa.timestamp("us", "UTC"), HEADERS, pa.int32(), PLACES,
    )  # fmt: skip
    schema = pa.schema(list(zip(names, types, strict=True)))
    columns = RecordColumns("scores", tuple((name, name) for name in names), schema)
    first, second = columns.batch(wanted, "0", messages).to_pylist()
    assert (first["value"], first["key"].decode()) == (b"\x00\xff", "käse")
    assert (first["topic"], first["partition"], first["offset"]) == (wanted.topic, 0, 0)
    assert first["timestamp"].timestamp() == 1.234
    assert first["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert first[SPLIT] == 0
    assert first[PLACE] == {"origin": "scores", "split": "0", "offset": 0}
    assert (second["value"], second["key"], second["headers"]) == (None, None, None)


def test_text_that_is_none_is_rejected_with_its_record(records):
    def write(produce):
        produce("gut")
        produce(b"\xff\xfe", "k")

    wanted, messages = records(write)
    kinds = {TEXT: pa.string(), REJECTED: pa.string(), PARSED: pa.bool_()}
    columns = RecordColumns("texts", tuple((n, n) for n in kinds), pa.schema(list(kinds.items())))
    good, bad = columns.batch(wanted, "0", messages).to_pylist()
    assert good == {TEXT: "gut", REJECTED: None, PARSED: True}
    assert (bad[TEXT], bad[PARSED]) == (None, False)
    why, record = bad[REJECTED].split("\n")
    assert why == "the value is no UTF-8"
    shown = json.loads(record)
    assert (shown["offset"], shown["key"], shown["value"]) == (1, "k", "//4=")
    assert described(wanted, messages[1])["topic"] == wanted.topic


@pytest.mark.parametrize(
    ("content", "text"), [(b"gr\xc3\xb6\xc3\x9fe", "größe"), (b"\xff", b"\xff"), (None, None)]
)
def test_bytes_that_are_no_text_stay_bytes(content, text):
    assert as_text(content) == text
