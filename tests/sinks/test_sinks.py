"""The choice of who writes and who commits, and what is refused before a job runs."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from millstream.model.errors import PlanError
from millstream.plan.targets import Files, Memory, Target
from millstream.sinks.kinds import Slice, check_folders, committer_of, writer_of

SLICE = Slice("a1b2c3d4", batch=0, number=0, attempt=0)


class Elsewhere(Target):
    kind = "elsewhere"


def test_a_target_that_no_one_knows_is_an_error():
    with pytest.raises(TypeError, match="an unknown target"):
        writer_of("out", Elsewhere(), SLICE)
    with pytest.raises(TypeError, match="an unknown target"):
        committer_of("out", Elsewhere())


def test_files_go_from_writer_to_committer(tmp_path):
    target = Files(str(tmp_path), "csv", (("sep", ";"),))
    writer = writer_of("out", target, SLICE)
    writer.write(pa.table({"a": [1], "b": ["x"]}))
    committer_of("out", target).commit("a1b2c3d4", 0, [writer.close()])
    (file,) = tmp_path.glob("part-*")
    assert file.read_text() == "a;b\n1;x\n"


def test_two_sinks_do_not_share_a_folder():
    totals, late = Files("/data/out", "json"), Files("file:/data/out/", "csv")
    with pytest.raises(
        PlanError, match="MS113 in step 'late': 'totals' writes to 'file:/data/out/"
    ):
        check_folders({"totals": totals, "late": late})
    check_folders({"totals": totals, "late": Files("/data/out/late", "csv"), "kept": Memory()})


def test_writers_need_no_spark():
    program = (
        "import sys\n"
        "from millstream.plan.targets import Console, Each, Files, Memory\n"
        "from millstream.sinks.kinds import Slice, committer_of, writer_of\n"
        "for target in Memory(), Console(1), Each(print), Files('/out', 'json'):\n"
        "    writer_of('out', target, Slice('a1b2c3d4', 0, 0, 0)), committer_of('out', target)\n"
        "print('pyspark' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
