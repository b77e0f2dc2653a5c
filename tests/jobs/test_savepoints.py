"""Savepoints are complete copies of checkpoints, and put back as such."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from millstream.jobs.registry.registry import opened_registry
from millstream.jobs.savepoints import make_savepoint, restore_savepoint
from millstream.model.errors import RunError
from millstream.spark.driver.damage import PLAN
from millstream.spark.driver.ownership import Owner


@pytest.fixture
def job(tmp_path):
    """A job with some files in its checkpoint."""
    folder = tmp_path / "checkpoints" / "totals"
    for name in (PLAN, "spark/offsets/0", "spark/state/0/.1.delta.crc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"first {name}")
    with opened_registry(tmp_path / "data") as registry:
        return registry.job(registry.register("totals", "totals.py", str(folder)))


def content(folder):
    files = [file for file in Path(folder).rglob("*") if file.is_file()]
    found = {file.relative_to(folder).as_posix(): file.read_text() for file in files}
    return {name: text for name, text in found.items() if not name.startswith("owner/")}


def test_a_savepoint_has_all_files_but_the_owner_and_can_be_put_back(job, tmp_path):
    before = content(job.checkpoint)
    made = make_savepoint(job, f"{tmp_path}/saved/")
    assert made == f"{tmp_path}/saved/totals"
    assert content(made) == before
    assert not (Path(made) / "owner").exists()

    Path(job.checkpoint, "spark/offsets/1").write_text("later")
    later = content(job.checkpoint)
    kept = restore_savepoint(job, f"{tmp_path}/saved")
    assert content(job.checkpoint) == content(made) == before
    assert content(kept) == later


def test_a_job_whose_checkpoint_is_gone_resumes_from_a_savepoint(job, tmp_path):
    before = content(make_savepoint(job, f"{tmp_path}/saved"))
    shutil.rmtree(job.checkpoint)
    assert restore_savepoint(job, f"{tmp_path}/saved") is None
    assert content(job.checkpoint) == before


def test_a_job_that_runs_is_not_copied(job, tmp_path):
    owner = Owner.take("totals", str(tmp_path / "checkpoints"))
    with pytest.raises(RunError, match="MS209"):
        make_savepoint(job, f"{tmp_path}/saved")
    owner.release()
    make_savepoint(job, f"{tmp_path}/saved")


def test_a_savepoint_never_replaces_another_and_a_checkpoint_is_needed_for_one(job, tmp_path):
    make_savepoint(job, f"{tmp_path}/saved")
    with pytest.raises(RunError, match="MS228.*has files already"):
        make_savepoint(job, f"{tmp_path}/saved")
    Path(job.checkpoint, PLAN).unlink()
    with pytest.raises(RunError, match="MS228.*has no checkpoint"):
        make_savepoint(job, f"{tmp_path}/other")


def test_a_folder_without_a_savepoint_changes_nothing(job, tmp_path):
    before = content(job.checkpoint)
    with pytest.raises(RunError, match="MS228.*has no savepoint of job 'totals'"):
        restore_savepoint(job, f"{tmp_path}/nothing")
    assert content(job.checkpoint) == before
