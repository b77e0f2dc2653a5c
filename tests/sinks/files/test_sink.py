"""Checks of a sink of files before a job runs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.model.errors import PlanError, RunError
from millstream.plan.targets import Files, Memory
from millstream.sinks.files.sink import FilesSink
from millstream.sinks.memory import MemorySink
from millstream.sinks.slices import Slice


def test_files_go_from_writer_to_committer(tmp_path):
    sink = FilesSink("out", Files(str(tmp_path), "csv", (("sep", ";"),)))
    writer = sink.writer(Slice("a1b2c3d4", batch=0, number=0, attempt=0))
    writer.write(pa.table({"a": [1], "b": ["x"]}))
    sink.committer().commit("a1b2c3d4", 0, [writer.close()])
    (file,) = tmp_path.glob("part-*")
    assert file.read_text() == "a;b\n1;x\n"


def test_two_sinks_do_not_share_a_folder():
    totals = FilesSink("totals", Files("/data/out", "json"))
    with pytest.raises(
        PlanError, match="MS113 in step 'late': 'totals' writes to 'file:/data/out/"
    ):
        FilesSink("late", Files("file:/data/out/", "csv")).check_beside([totals])
    below = FilesSink("late", Files("/data/out/late", "csv"))
    below.check_beside([totals, MemorySink("kept", Memory())])


def test_a_run_that_would_write_its_rows_a_second_time_is_an_error(tmp_path):
    target = Files(str(tmp_path), "parquet")
    FilesSink("out", target).check_results(anew=True)
    for number in range(2):
        name = f"part-a1b2c3d4-0000000000-0000{number}.parquet"
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(RunError) as caught:
        FilesSink("out", target).check_results(anew=True)
    assert str(caught.value) == (
        f"MS212 in step 'out': '{tmp_path}' already has 2 files of results, such as "
        "part-a1b2c3d4-0000000000-00000.parquet, and this run would add all its rows to "
        "them\n"
        "  What to do: write_files(…, mode='overwrite') replaces them once the run has succeeded, "
        "mode='append' adds to them; with run(…, checkpoint=…) each row is written once, however "
        "often the job is run\n"
        "  More: millstream help MS212"
    )
    FilesSink("out", target).check_results(anew=False)
    for mode in ("append", "overwrite"):
        FilesSink("out", Files(str(tmp_path), "parquet", (), (), mode)).check_results(anew=True)
    with pytest.raises(RunError, match="MS212"):
        FilesSink("out", Files(str(tmp_path), "parquet", (), (), "error")).check_results(anew=True)


@pytest.mark.parametrize("mode", ["overwrite", "error"])
def test_a_mode_is_an_error_in_a_run_that_resumes(tmp_path, mode):
    with pytest.raises(PlanError, match=f"MS113 in step 'out': mode='{mode}' is for a run that"):
        FilesSink("out", Files(str(tmp_path), "parquet", (), (), mode)).check_results(anew=False)
    FilesSink("out", Files(str(tmp_path), "parquet", (), (), "append")).check_results(anew=False)
