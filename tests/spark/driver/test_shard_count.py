"""A batch has as many shards as its input needs, however it is read."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
import topics
from millstream.spark.driver import batch_job, shard_count
from millstream.spark.driver.shard_count import MOST, SHARD_BYTES, input_bytes, shards_of
from millstream.spark.sources.kafka import opened_topics


def test_a_shard_for_each_16_mb_and_at_least_one_for_each_partition():
    assert shards_of(0, 2) == 2
    assert shards_of(2 * SHARD_BYTES, 2) == 2
    assert shards_of(2 * SHARD_BYTES + 1, 2) == 3
    assert shards_of(2 * SHARD_BYTES + 1, 8) == 8
    assert shards_of(10**15, 8) == MOST
    assert shards_of(10**15, 2 * MOST) == 2 * MOST


@pytest.fixture
def folder(tmp_path):
    """Three files of 1,000 bytes, one of them in another folder, and one that is not read."""
    (tmp_path / "day=1").mkdir()
    for name in ("a.json", "b.json", "day=1/c.json"):
        (tmp_path / name).write_text("x" * 1000)
    (tmp_path / "_hidden").write_text("x" * 1000)
    return tmp_path


def size_of(spark, stream):
    return input_bytes(spark, [stream.node], opened_topics([stream.node]))


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_files_are_as_large_as_they_are(spark, folder, scheme):
    files = ms.read_files(f"{scheme}{folder}", format="json", schema="n int", bounded=True)
    assert size_of(spark, files) == 3000


def test_spark_knows_the_files_of_patterns_and_of_frames(spark, folder):
    chosen = f"{folder}/{{a,b}}.json"
    files = ms.read_files(chosen, format="json", schema="n int", bounded=True)
    assert size_of(spark, files) == 2000
    frame = spark.read.text(str(folder / "a.json"))
    assert size_of(spark, ms.from_dataframe(frame, name="given")) == 1000
    assert size_of(spark, ms.from_dataframe(spark.range(5), name="numbers")) == 0


def test_rows_and_records_are_counted(spark, broker):
    assert size_of(spark, ms.from_rows([(1,), (2,)], "n int")) == 200
    topic = topics.new_topic(broker.servers, 2)
    topics.put(broker.servers, topic, map(str, range(10)), 0)
    topics.put(broker.servers, topic, map(str, range(5)), 1)
    whole = ms.read_kafka(topic, "n int", until="latest", servers=broker.servers)
    assert size_of(spark, whole) == 1500
    ends = {"start": {0: 4, 1: 1}, "until": {0: 6, 1: 5}}
    some = ms.read_kafka(topic, "n int", **ends, servers=broker.servers)
    assert size_of(spark, some) == 600


def test_a_batch_of_many_shards_gives_what_the_reference_gives(spark, tmp_path, monkeypatch):
    rows = [(n % 100, n, float(n % 7)) for n in range(2_000)]
    file = tmp_path / "in.parquet"
    pl.DataFrame(rows, schema=["key", "n", "at"], orient="row").write_parquet(file)
    monkeypatch.setattr(shard_count, "SHARD_BYTES", file.stat().st_size // 20 + 1)
    made = []

    def counted(size, partitions):
        made.append(shards_of(size, partitions))
        return made[-1]

    monkeypatch.setattr(batch_job, "shards_of", counted)
    columns = "key bigint, n bigint, at double"

    def sums(stream):
        windows = stream.key_by("key").window(ms.fixed("2s"))
        by_key = windows.aggregate(n=ms.count(), s=ms.sum("n"))
        by_window = by_key.window(ms.fixed("2s")).aggregate(keys=ms.count(), s=ms.sum("s"))
        return by_window.collect("all")

    read = ms.read_files(file, schema=columns, event_time="at", bounded=True)
    given = ms.from_rows(rows, columns, event_time="at")
    found = sums(read).run("many", spark=spark).rows("all")
    assert made == [20]
    assert sorted(map(str, found)) == sorted(map(str, sums(given).run("one").rows("all")))
