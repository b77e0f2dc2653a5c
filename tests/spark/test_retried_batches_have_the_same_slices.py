"""What is in a slice does not depend on how Spark reads: in which order, and in how many tasks."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import millstream as ms
from millstream.engine.rows import SPLIT
from millstream.engine.state.blobs import packed, unpacked
from millstream.physical.plan import physical
from millstream.plan.targets import Memory
from millstream.sinks.memory import Rows
from millstream.sinks.slices import number_of
from millstream.spark.sources.file_tasks import file_task_settings, keep_file_tasks
from millstream.spark.worker.envelopes import ARROW, Envelope, batches_of, envelopes_in
from millstream.spark.worker.python_stage import PythonStage
from millstream.spark.worker.stage_run import StageRun
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.sinks import ToSink, Write


def place(name, number=0):
    stage = PythonStage(schema=ARROW, labels=[10, 20], split=SPLIT, slices="splits", batch=0)
    run = StageRun(stage, number)
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
    sink = ToSink(step="numbers", schema=pa.schema([("n", pa.int64())]))
    stage = PythonStage(
        schema=ARROW,
        inputs=[(StepColumns({"n": "n"}), [sink])],
        tasks=[sink],
        labels=[10, 20],
        split=SPLIT,
        slices="splits",
        batch=0,
    )
    rows = pa.table(
        {
            "n": [n for _, numbers in partitions for n in numbers],
            SPLIT: [split for split, numbers in partitions for _ in numbers],
        }
    )
    made = [e for b in stage(iter(rows.to_batches(max_chunksize=3))) for e in envelopes_in(b)]
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
    write = Write(step="numbers", target=Memory(), schema=pa.schema([("n", pa.int64())]))
    stage = PythonStage(
        schema=ARROW,
        sinks={"numbers": write},
        tasks=[write],
        slices="origins",
        batch=0,
    )
    rows = packed(pl.DataFrame({"n": [1]}))
    origins = ["a/b/000001/000001", "a/b/000001/000002", "other/000001/000001"]
    sent = [Envelope(0, "a/b", "count", split="read", value=3)]
    sent += [Envelope(0, "numbers", "sink", split=o, elements=1, payload=rows) for o in origins]
    made = [e for b in stage(batches_of(sent)) for e in envelopes_in(b) if e.kind == "receipt"]
    assert sorted(Rows.unpacked(e.payload).slice for e in made) == sorted(
        [number_of("a/b/000001"), number_of("other/000001")]
    )


def lines_in(folder: Path, name: str = "numbers") -> ms.Stream:
    for n in range(8):
        (folder / f"{n}.json").write_text(json.dumps({"n": n}))
    return ms.read_files(folder, "json", schema="n int", name=name)


def lines_in_two_folders(folder: Path) -> ms.Stream:
    for name in ("a", "b"):
        (folder / name).mkdir()
    return lines_in(folder / "b", "b").union(lines_in(folder / "a", "a"))


def tables_in(folder: Path) -> ms.Stream:
    """Which Python reads, where Spark has only named them."""
    for n in range(8):
        pl.DataFrame({"n": [n]}, {"n": pl.Int32}).write_parquet(folder / f"{n}.parquet")
    return ms.read_files(folder, "parquet", schema="n int", name="numbers")


def rows_of_the_program(folder: Path) -> ms.Stream:
    """Which the checkpoint has a copy of, in a file that is large enough to be cut."""
    return ms.from_rows([(n,) for n in range(2000)], schema="n int", name="numbers")


def slices_of(stream: ms.Stream, folder: Path, spark) -> dict[str, list[int]]:
    """What each slice of the first batch has, when the batch is done; it is never committed."""
    slices_in = folder / "slices"
    for old in slices_in.glob("*"):
        old.unlink()
    slices_in.mkdir(exist_ok=True)

    def save(rows, batch, slice):
        (slices_in / f"{batch}-{slice}").write_text(json.dumps(sorted(row["n"] for row in rows)))

    program = stream.write_each(save, name="saved")
    program.run("job", checkpoint=folder / "checkpoint", spark=spark).process_all().stop()
    (folder / "checkpoint" / "job" / "spark" / "commits" / "0").unlink()
    return {file.name: json.loads(file.read_text()) for file in slices_in.glob("0-*")}


@pytest.fixture
def settings(spark):
    """Sets what Spark goes by when it cuts files into tasks, until the test ends."""
    changed = []

    def set_to(**given):
        for name, value in given.items():
            changed.append(f"spark.sql.{name.replace('_', '.')}")
            spark.conf.set(changed[-1], value)

    yield set_to
    for name in changed:
        spark.conf.unset(name)


@pytest.mark.parametrize("source", [lines_in, lines_in_two_folders, tables_in, rows_of_the_program])
def test_a_batch_that_is_done_again_on_other_cores_has_the_same_slices(
    source, tmp_path, spark, settings
):
    (tmp_path / "in").mkdir()
    stream = source(tmp_path / "in")
    first = slices_of(stream, tmp_path, spark)
    assert {0, 7} < {n for rows in first.values() for n in rows}
    # As it would be on seven cores, and for who wants small tasks.
    settings(leafNodeDefaultParallelism=7, files_openCostInBytes=1, files_maxPartitionNum=100)
    assert slices_of(stream, tmp_path / "in", spark) != first  # a job that begins now
    with pytest.raises(ms.MillstreamError, match="MS206: .* assigns files to other tasks") as error:
        slices_of(stream, tmp_path, spark)
    settings(files_minPartitionNum=1)  # so that it is as it was when the test ends
    exec(error.value.fix.removeprefix("before run(): "), {"spark": spark})
    assert slices_of(stream, tmp_path, spark) == first


def test_a_session_of_our_own_packs_files_as_a_job_began_with(spark, settings):
    began = file_task_settings(spark)
    settings(leafNodeDefaultParallelism=7, files_minPartitionNum=7, files_maxPartitionNum=100)
    keep_file_tasks(spark, began, ours=True)
    assert file_task_settings(spark) == began


def test_a_job_leaves_the_settings_of_the_session_alone(tmp_path, spark):
    before = spark.conf.getAll
    (tmp_path / "in").mkdir()
    slices_of(lines_in(tmp_path / "in"), tmp_path, spark)
    assert spark.conf.getAll == before


def test_sources_whose_tasks_are_not_known_come_last_and_sinks_do_not_change_the_order():
    # The number of a task goes on from source to source.
    streams = [
        ms.read_kafka("scores", name="a"),
        ms.read_files("/in", "text", name="d"),
        ms.read_files("/in", "text", name="b"),
        ms.read_kafka("others", name="c"),
    ]
    sinks = [stream.collect(f"all of {i}") for i, stream in enumerate(streams)]
    for given in (sinks, sinks[::-1]):
        plan = physical(ms.pipeline(*given).sinks)
        assert [source.name for source in plan.sources] == ["b", "d", "a", "c"]


def test_a_task_that_does_not_know_its_batch_writes_nothing():
    # Taken for batch 0, every batch after the first would be one that was written before.
    run = StageRun(PythonStage(schema=ARROW, labels=[10, 20]), 0)
    with pytest.raises(ms.MillstreamError, match="MS206: Spark does not tell its tasks the number"):
        _ = run.slice
