"""What is in a slice does not depend on the order in which Spark reads partitions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.engine.blobs import unpacked
from millstream.spark.hop import Hop, PortSpec, Run, ToSink
from millstream.spark.tables import SPLIT
from millstream.spark.wire import ARROW, envelopes_in


def home(topics, split, number):
    hop = Hop([], {}, {}, [], [], [], {}, [10, 20], ARROW, SPLIT, topics=topics)
    run = Run(hop, number)
    run.is_of(split)
    return run.home(), run.slice.number


@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_partition_of_kafka_is_always_in_the_same_slice(number):
    assert home(("scores",), "3", number) == (20, 3)
    assert home(("scores",), "2", number) == (10, 2)
    assert home(("a-1", "b"), "a-1-0", number) == (10, 0)
    assert home(("a-1", "b"), "b-0", number) == (20, 1)
    assert home(("a-1", "b"), "a-1-7", number) == (10, 14)


def test_no_two_partitions_share_a_slice():
    topics = ("a", "a-1", "b")
    slices = [home(topics, f"{topic}-{n}", 0)[1] for topic in topics for n in range(4)]
    assert len(set(slices)) == len(slices)


def test_what_is_not_read_from_kafka_has_the_place_that_spark_says():
    assert home((), None, 5) == (20, 5)


def sent(*partitions):
    """What becomes of rows that one task reads, in record batches of three rows."""
    sink = ToSink("numbers", schema=pa.schema([("n", pa.int64())]))
    port = PortSpec({"n": "n"}, None, None, None)
    hop = Hop([(port, [sink])], {}, {}, [sink], [], [], {}, [10, 20], ARROW, SPLIT, topics=("t",))
    rows = pa.table(
        {
            "n": [n for _, numbers in partitions for n in numbers],
            SPLIT: [split for split, numbers in partitions for _ in numbers],
        }
    )
    made = [e for b in hop(iter(rows.to_batches(max_chunksize=3))) for e in envelopes_in(b)]
    return {(e.shard, e.split, tuple(unpacked(e.payload)["n"])) for e in made if e.kind == "sink"}


def test_partitions_that_one_task_reads_are_in_slices_of_their_own():
    first, second, third = (0, [1, 2, 3, 4]), (3, [5]), (1, [6, 7, 8, 9])
    assert sent(first, second, third) == {
        (10, "/000000/000001", (1, 2, 3)),
        (10, "/000000/000002", (4,)),
        (20, "/000003/000001", (5,)),
        (20, "/000001/000001", (6,)),
        (20, "/000001/000002", (7, 8, 9)),
    }


def test_no_rows_are_in_no_slice():
    assert sent((0, [])) == set()
