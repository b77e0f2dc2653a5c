"""Temporary folders are for their user alone, and go when their process does."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from millstream.spark.driver.scratch import scratch_folder

MAKE = """
import os, signal, sys
from millstream.spark.driver.scratch import scratch_folder
print(scratch_folder(sys.argv[1]), flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def made_by_a_process_that(ended: str, parent: Path) -> Path:
    command = [sys.executable, "-c", MAKE, str(parent), ended]
    return Path(subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip())


def test_a_folder_is_for_its_user_alone(tmp_path):
    folder = scratch_folder(str(tmp_path))
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert Path(folder).parent == tmp_path
    assert scratch_folder(str(tmp_path)) != folder
    assert Path(folder).is_dir()  # its process runs


def test_a_folder_goes_with_its_process_or_when_the_next_one_is_made(tmp_path):
    assert not made_by_a_process_that("ended", tmp_path).exists()
    left = made_by_a_process_that("killed", tmp_path)
    (left / "spark").mkdir()
    elsewhere = made_by_a_process_that("killed", tmp_path)
    assert not left.exists()
    note = elsewhere / "process.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"machine": "another container"}))
    (tmp_path / "millstream-of-someone").mkdir()
    scratch_folder(str(tmp_path))
    assert elsewhere.exists()
    assert (tmp_path / "millstream-of-someone").exists()
