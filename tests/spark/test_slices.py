"""What is in a slice does not depend on the order in which Spark reads partitions."""

from __future__ import annotations

import polars as pl
import pytest

from millstream.spark.hop import Hop, Run
from millstream.spark.tables import SPLIT
from millstream.spark.wire import ARROW


def home(topics, split, number):
    hop = Hop([], {}, {}, [], [], [], {}, [10, 20], ARROW, SPLIT, topics=topics)
    run = Run(hop, number)
    run._find_place(pl.DataFrame({SPLIT: [None, split]}))
    return run.home(), run.slice.number


@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_partition_of_kafka_is_always_in_the_same_slice(number):
    assert home(("scores",), 3, number) == (20, 3)
    assert home(("scores",), "2", number) == (10, 2)  # as it is told from turn to turn
    assert home(("a-1", "b"), "a-1-0", number) == (10, 0)
    assert home(("a-1", "b"), "b-0", number) == (20, 1)
    assert home(("a-1", "b"), "a-1-7", number) == (10, 14)


def test_no_two_partitions_share_a_slice():
    topics = ("a", "a-1", "b")
    slices = [home(topics, f"{topic}-{n}", 0)[1] for topic in topics for n in range(4)]
    assert len(set(slices)) == len(slices)


def test_what_is_not_read_from_kafka_has_the_place_that_spark_says():
    assert home(None, "x", 5) == (20, 5)
