"""What is in a slice does not depend on the order in which Spark reads partitions."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from millstream.engine.blobs import packed, unpacked
from millstream.plan.targets import Memory
from millstream.spark.hop import Hop, Run
from millstream.spark.memory import Rows
from millstream.spark.slices import number_of
from millstream.spark.tables import SPLIT
from millstream.spark.tasks import PortSpec, ToSink, Write
from millstream.spark.wire import ARROW, Envelope, batches_of, envelopes_in


def place(name, number=0):
    hop = Hop([], {}, {}, [], [], [], {}, [10, 20], ARROW, SPLIT, slices="splits")
    run = Run(hop, number)
    run.is_of(name)
    return run.home(), run.slice.number, run.slice.name


@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_partition_of_kafka_is_always_in_the_same_slice(number):
    assert place("3", number) == (20, 3, "")
    assert place("2", number) == (10, 2, "")
    assert place("a-1-0", number) == place("a-1-0")
    assert place("a-1-0", number)[2] == "a-1-0"


def test_no_two_partitions_share_a_slice():
    topics = ("a", "a-1", "b")
    slices = {place(f"{topic}-{n}")[1:] for topic in topics for n in range(4)}
    assert len({number for number, _ in slices}) == len(slices) == 12


def test_what_is_not_read_from_kafka_has_the_place_that_spark_says():
    assert place(None, 5) == (20, 5, "")


def sent(*partitions):
    """What becomes of rows that one task reads, in record batches of three rows."""
    sink = ToSink("numbers", schema=pa.schema([("n", pa.int64())]))
    port = PortSpec({"n": "n"}, None, None, None)
    hop = Hop([(port, [sink])], {}, {}, [sink], [], [], {}, [10, 20], ARROW, SPLIT, slices="splits")
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


def test_rows_of_several_sources_are_in_slices_of_their_own():
    write = Write("numbers", target=Memory(), schema=pa.schema([("n", pa.int64())]))
    hop = Hop([], {("sink", "numbers"): [write]}, {}, [write], [], [], {}, [], ARROW)
    hop.slices = "origins"
    rows = packed(pl.DataFrame({"n": [1]}))
    origins = ["a/b/000001/000001", "a/b/000001/000002", "other/000001/000001"]
    told = [Envelope(0, "a/b", "count", split="read", value=3)]
    told += [Envelope(0, "numbers", "sink", split=o, elements=1, payload=rows) for o in origins]
    made = [e for b in hop(batches_of(told)) for e in envelopes_in(b) if e.kind == "receipt"]
    assert sorted(Rows.unpacked(e.payload).slice for e in made) == sorted(
        [number_of("a/b/000001"), number_of("other/000001")]
    )
