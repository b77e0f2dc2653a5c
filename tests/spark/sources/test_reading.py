"""Each kind of source is read as the frame that Spark has for it."""

from __future__ import annotations

import json

import pytest

import millstream as ms
from millstream.model.errors import KafkaError
from millstream.physical.plan import physical
from millstream.spark.sources import reading
from millstream.spark.sources.file_tasks import TASKS
from millstream.spark.sources.reading import reader


def read(spark, stream, streaming, folder=None, **how):
    plan = physical(stream.collect("all").sinks)
    (source,) = plan.sources
    return reader(spark, plan, streaming, folder and str(folder), how.pop("topics", {}), **how)(
        source
    )


def test_rows_of_the_program_are_a_table_and_in_a_stream_files_that_are_written_once(
    spark, tmp_path
):
    rows = ms.from_rows([(1,), (2,)], "n int", name="my rows")
    assert read(spark, rows, streaming=False).collect() == [(1,), (2,)]
    for _ in range(2):
        frame = read(spark, rows, streaming=True, folder=tmp_path)
        assert frame.isStreaming
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("my-rows-")
    assert (folder / "_written").exists()
    assert spark.read.parquet(str(folder)).count() == 2
    (folder / "_written").unlink()
    read(spark, rows, streaming=True, folder=tmp_path)
    assert spark.read.parquet(str(folder)).count() == 2, "what was half written is replaced"


def test_files_are_read_with_their_schema_or_only_named_where_python_loads_them(spark, tmp_path):
    (tmp_path / "1.json").write_text(json.dumps({"n": 1}))
    files = ms.read_files(tmp_path, "json", "n int", name="files", bounded=True)
    assert read(spark, files, streaming=False).columns == ["path"]
    by_spark = ms.read_files(
        tmp_path, "json", "n int", name="files", bounded=True, on_malformed="null"
    ).filter("n > 0")
    assert read(spark, by_spark, streaming=False).collect() == [(1,)]
    endless = ms.read_files(tmp_path, "json", "n int", name="files")
    assert read(spark, endless, streaming=True).isStreaming


def test_frames_are_taken_as_they_are_if_they_stream_or_need_not(spark, tmp_path):
    table = spark.range(2)
    assert read(spark, ms.from_dataframe(table), streaming=False) is table
    assert read(spark, ms.from_dataframe(table), streaming=True, folder=tmp_path).isStreaming
    stream = spark.readStream.format("rate").load()
    assert read(spark, ms.from_dataframe(stream), streaming=True) is stream


def test_ticks_are_made_in_the_tasks_that_the_job_began_with(spark):
    frame = read(spark, ms.read_rate(rows_per_second=5), True, file_tasks={TASKS: "3"})
    assert frame.columns == ["timestamp", "value"]
    assert "numPartitions -> 3" in frame._jdf.queryExecution().toString().replace("=", " -> ")


def test_a_topic_that_changes_while_it_is_copied_leaves_no_sign_that_all_is_there(
    spark, tmp_path, monkeypatch
):
    def changed(topics):
        raise KafkaError("MS350", "created again", fix="run it again")

    rows = ms.from_rows([(1,)], "n int", name="rows")
    monkeypatch.setattr(reading, "check_unchanged", changed)
    with pytest.raises(KafkaError, match="MS350"):
        read(spark, rows, streaming=True, folder=tmp_path, topics={"rows": "topics"})
    assert not (tmp_path / "rows" / "_written").exists()
