"""How many shards a batch has: so many that the rows of one fit in memory, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from millstream.kafka.client.positions import BEGINNING, END, offsets_at
from millstream.physical.reading import is_on_disk
from millstream.plan.layouts import Options, listing_options
from millstream.plan.nodes import FilesSource, FrameSource, KafkaSource, RowsSource, Source
from millstream.spark.sources.kafka import Topics
from millstream.spark.sources.listing import listed

SHARD_BYTES = 16 << 20
"""The input that one shard is for: a million rows of parquet, or a few less of text."""
MOST = 1_000
"""Each shard costs some time, and each sink writes the rows of each shard by themselves."""
_RECORD = 100  # bytes, as a guess


def partitions_of(spark: SparkSession) -> int:
    """How many partitions a shuffle has: the most tasks that can work at a time."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 2)


def shards_of(size: int, partitions: int) -> int:
    """As many shards as input of so many bytes needs, and at least one for each partition.

    >>> shards_of(1_000_000, 2), shards_of(1_600_000_000, 2), shards_of(1_600_000_000, 200)
    (2, 96, 200)
    """
    return max(partitions, min(MOST, -(-size // SHARD_BYTES)))


def input_bytes(
    spark: SparkSession, sources: Iterable[Source], topics: Mapping[str, Topics]
) -> int:
    """How large the input of a batch is, about; what cannot be known in a moment counts nothing."""
    return sum(_bytes(spark, source, topics) for source in sources)


def _bytes(spark: SparkSession, source: Source, topics: Mapping[str, Topics]) -> int:
    match source:
        case RowsSource():
            return len(source.rows) * _RECORD
        case KafkaSource():
            return _records(topics[source.name]) * _RECORD
        case FilesSource():
            files = listed(source.path, source.options) if is_on_disk(source) else None
            if files is None:
                return _length(spark, [source.path], listing_options(source.options))
            return sum(map(_size, files))
        case FrameSource():
            return _length(spark, source.frame.inputFiles())
    return 0


def _size(file: Path) -> int:
    with suppress(FileNotFoundError):  # it was there a moment ago
        return file.stat().st_size
    return 0


def _records(topics: Topics) -> int:
    """How many records there are from the start of a source to its end."""
    every = [TopicPartition(*each) for each in topics.each()]
    admin = topics.connection.admin
    first, last = offsets_at(admin, every, BEGINNING), offsets_at(admin, every, END)
    for known, position in ((first, topics.source.start), (last, topics.source.until)):
        if position is not None:
            known |= {TopicPartition(topic, n): at for topic, n, at in position.offsets}
    return sum(max(0, last[each] - first[each]) for each in every)


def _length(spark: SparkSession, paths: Sequence[str], options: Options = ()) -> int:
    """The bytes of files, wherever they are; their contents are not read."""
    if not paths:
        return 0
    files = spark.read.format("binaryFile").options(**dict(options)).load(list(paths))
    (total,) = files.agg(F.sum("length")).first() or (0,)
    return int(total or 0)
