"""Shards are spread evenly over the partitions of a shuffle, as Spark hashes their labels."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from millstream.spark.driver.shard_labels import labels_of


@pytest.mark.parametrize(("shards", "partitions"), [(2, 2), (4, 4), (6, 3)])
def test_each_partition_gets_as_many_shards(shards, partitions, spark):
    labels = labels_of(shards, partitions)
    assert len(set(labels)) == shards
    frame = spark.createDataFrame([(label,) for label in labels], "label int")
    placed = frame.select(F.pmod(F.hash("label"), F.lit(partitions)).alias("p")).collect()
    counts = [sum(row.p == p for row in placed) for p in range(partitions)]
    assert counts == [shards // partitions] * partitions
