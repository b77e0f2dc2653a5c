"""Rows as records of Kafka, and the ids of their slices."""

from __future__ import annotations

import pyarrow as pa
import pytest

import millstream as ms
from millstream.kafka.client.partitioning import java_hash
from millstream.plan.targets import Kafka
from millstream.sinks.kafka import kafka_slice, records_of
from millstream.sinks.slices import Slice

NOWHERE = "127.0.0.1:1"


def target(stream: ms.Stream, **options: object) -> Kafka:
    (sink,) = stream.write_kafka("topic", servers=NOWHERE, **options).sinks
    return sink.target


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("out", "eu-orders-0", 0), ("out-eu", "orders-0", 0)),
        (("out", "a-0", 0), ("out-a-0", "", 0)),
        (("out", "a-0", 0), ("out/a-0", "", 0)),
        (("out/x", "a-0", 0), ("out", "x/a-0", 0)),
        (("out", "", 1), ("out-1", "", 1)),
        (("a%2Fb", "", 0), ("a/b", "", 0)),
    ],
)
def test_no_two_slices_have_the_same_ids(one, other):
    rows = target(ms.from_rows([("red",)], "team string"))

    def written(sink, name, number):
        return kafka_slice(sink, rows, Slice("a1b2c3d4", 0, number, 0, name))

    first, second = written(*one), written(*other)
    assert first.transactional_id != second.transactional_id
    assert (first.group, first.number) != (second.group, second.number)


ROWS = pa.table({"team": ["red", "blue"], "kind": ["-", "+"], "n": [1, 2]})


def test_a_column_that_only_happens_to_be_called_kind_takes_nothing_back():
    rows = ms.from_rows(ROWS.to_pylist(), "team string, kind string, n int")
    upserts = records_of(ROWS, target(rows, key="team", changes="upsert"))
    assert upserts.values == [
        '{"team":"red","kind":"-","n":1}',
        '{"team":"blue","kind":"+","n":2}',
    ]
    assert records_of(ROWS, target(rows, value="n")).headers is None


def test_what_a_retracting_stream_takes_back_is_a_tombstone_or_has_a_header():
    rows = ms.from_rows([("red", 1)], "team string, x int")
    totals = rows.key_by("team").refine(ms.retracting).aggregate(n=ms.sum("x"))
    kept = totals.select("team", "n", "kind")
    upserts = records_of(ROWS, target(kept, key="team", changes="upsert"))
    assert upserts.values == [None, '{"team":"blue","n":2}']
    assert upserts.headers is None
    changelog = records_of(ROWS, target(kept, key="team"))
    assert changelog.values == ['{"team":"red","n":1}', '{"team":"blue","n":2}']
    assert changelog.headers == [[("kind", "-")], [("kind", "+")]]


def test_rows_become_records_while_the_brokers_are_away():
    rows = ms.from_rows(ROWS.to_pylist(), "team string, kind string, n int")
    found = records_of(ROWS, target(rows, partition_by="team"))
    assert found.hashes == [java_hash("red"), java_hash("blue")]
