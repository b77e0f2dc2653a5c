"""Topics as a data source: which task reads what, and what the driver's processes need."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import topics
from millstream.kafka.client.ranges import Range
from millstream.spark.sources.kafka_records import RecordColumns
from millstream.spark.sources.kafka_source import (
    Reading,
    _data_source,
    as_json,
    from_json,
    stream_offsets,
)

VALUES = RecordColumns("scores", (("v", "value"),), pa.schema([("v", pa.binary())]))


class Stage:
    """A Python stage that only shows what it is given."""

    in_turn = True

    def __call__(self, batches, records=None):
        for batch in batches:
            assert batch.column("v").to_pylist() == records.values()
            for row, value in enumerate(records.values()):
                yield records.describe(row)["offset"], value


def reading(topics=None, **more):
    return Reading(topics=topics, starts={}, ends=None, columns=VALUES, **more)


@pytest.mark.parametrize("tasks", [1, 2, 3, None])
def test_tasks_have_about_as_much_to_read_each(tasks):
    ranges = [Range("t", n, 0, size) for n, size in enumerate((100, 10, 90, 30, 60))]
    found = reading(tasks=tasks).partitions(ranges)
    assert len(found) == (tasks or len(ranges))
    assert sorted((r for task in found for r in task.ranges), key=lambda r: r.place) == ranges
    sizes = [sum(each.size for each in task.ranges) for task in found]
    assert tasks is None or max(sizes) - min(sizes) <= 100
    again = reading(tasks=tasks).partitions(ranges)
    assert [task.ranges for task in again] == [task.ranges for task in found]


def test_what_is_new_is_read_from_its_beginning_and_what_is_empty_not():
    found = reading().ranges({("t", 0): 5, ("t", 1): 7}, {("t", 0): 9, ("t", 1): 7, ("t", 2): 3})
    assert found == [Range("t", 0, 5, 9), Range("t", 2, 0, 3)]


def test_offsets_are_written_as_sparks_own_source_does():
    offsets = {("a", 0): 1, ("a", 10): 2, ("b", 3): 4}
    assert from_json(as_json(offsets)) == offsets
    assert as_json(offsets) == {"a": {"0": 1, "10": 2}, "b": {"3": 4}}


def test_a_stage_runs_where_records_are_read_and_can_describe_them(broker, opened):
    topic = topics.new_topic(broker.servers)
    topics.put(broker.servers, topic, ["a", "b", "c"])
    (found,) = opened(topic)
    whole = reading(found, stage=pickle.dumps(Stage()))
    (task,) = whole.partitions([Range(topic, 0, 1, 3)])
    assert list(whole.read(pickle.loads(pickle.dumps(task)))) == [(1, b"b"), (2, b"c")]
    bare = reading(found)
    (batch,) = bare.read(task)
    assert batch.to_pydict() == {"v": [b"b", b"c"]}


def test_a_process_that_only_looks_at_the_source_does_not_import_millstream(tmp_path):
    made = tmp_path / "class"
    made.write_bytes(cloudpickle.dumps(_data_source()))
    look = (
        f"import pickle, sys; made = pickle.loads(open({str(made)!r}, 'rb').read());"
        "made({'schema_json': '{\"type\": \"struct\", \"fields\": []}', 'secret_reading': ''})"
        ".streamReader(None); print('millstream' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_process_that_is_asked_for_offsets_keeps_its_connection():
    import base64

    option = base64.b64encode(pickle.dumps(reading())).decode()
    assert stream_offsets(option) is stream_offsets(option)
