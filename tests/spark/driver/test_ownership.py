"""One process at a time owns a checkpoint; none that has lost it commits anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pyarrow import fs

import millstream as ms
from millstream.spark.batches.commits import Commits
from millstream.spark.driver import ownership
from millstream.spark.driver.ownership import Owner
from millstream.system.folders import Folder
from waiting import until

TAKE = """
import sys
from millstream.spark.driver.ownership import Owner
owner = Owner.take("job", sys.argv[1])
print(owner.fence.owner, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr(ownership, "BEATS", 0.05)
    monkeypatch.setattr(ownership, "STALE", 0.6)
    monkeypatch.setattr(ownership, "_LOOKS", 0.02)


def refusal(folder: Path) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError) as caught:
        Owner.take("job", str(folder))
    assert caught.value.code == "MS209"
    return caught.value


def changed(folder: Path, **about: object) -> None:
    """The newest record, as if another machine had written it."""
    record = max((folder / "job" / "owner").glob("*.json"))
    record.write_text(json.dumps(json.loads(record.read_text()) | about))


def test_a_second_owner_is_refused_at_once_and_learns_who_the_first_is(tmp_path, monkeypatch):
    monkeypatch.setattr(ownership, "BEATS", 600.0)  # it does not wait for the next one
    owner = Owner.take("job", str(tmp_path))
    error = refusal(tmp_path)
    assert f"runs already, on the same checkpoint '{tmp_path}/job': " in error.what
    assert f"process {os.getpid()} (" in error.what
    assert "@" in error.what
    assert "since 20" in error.what
    assert "last heartbeat 20" in error.what
    assert "take_over=True" in error.fix
    owner.release()


def test_an_owner_that_has_released_a_checkpoint_does_not_keep_others_out(tmp_path):
    for _ in range(3):
        owner = Owner.take("job", str(tmp_path))
        owner.fence.check()
        owner.release()
        owner.release()
    names = {file.name for file in (tmp_path / "job" / "owner").iterdir()}
    assert names == {"0000000003.json", f"{owner.fence.owner}.beat"}


def test_jobs_of_other_names_have_owners_of_their_own(tmp_path):
    owners = [Owner.take(name, str(tmp_path)) for name in ("a", "b")]
    for owner in owners:
        owner.fence.check()
        owner.release()


def test_the_checkpoint_of_a_process_that_is_gone_is_taken_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ownership, "STALE", 600.0)
    command = [sys.executable, "-c", TAKE, str(tmp_path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline().startswith("0000000001-")
        assert f"process {other.pid} (" in refusal(tmp_path).what
        other.kill()
        other.wait()
        Owner.take("job", str(tmp_path)).release()


def test_a_process_with_the_same_pid_and_another_start_is_another_one(tmp_path, monkeypatch):
    monkeypatch.setattr(ownership, "STALE", 600.0)
    owner = Owner.take("job", str(tmp_path))
    changed(tmp_path, started="some time ago")
    Owner.take("job", str(tmp_path)).release()
    owner.release()


def test_a_heartbeat_on_another_machine_that_changes_keeps_others_out(tmp_path):
    owner = Owner.take("job", str(tmp_path))
    # Its clock is far ahead of ours, and its pid is of another process here.
    changed(tmp_path, machine="elsewhere", pid=1, started="", host="mill-7")
    assert "@mill-7, process 1 (" in refusal(tmp_path).what
    owner.release()
    Owner.take("job", str(tmp_path)).release()


def test_a_heartbeat_on_another_machine_that_has_stopped_is_watched_and_then_taken_for_none(
    tmp_path,
):
    owner = Owner.take("job", str(tmp_path))
    owner._ending.set()  # it is dead, and has released nothing
    owner._thread.join()
    changed(tmp_path, machine="elsewhere")
    began = time.monotonic()
    heir = Owner.take("job", str(tmp_path))
    assert time.monotonic() - began >= 0.6
    with pytest.raises(ms.MillstreamError, match="MS351"):
        owner.fence.check()
    heir.fence.check()
    heir.release()


def test_a_process_on_this_machine_that_stood_still_for_long_enough_is_replaced_at_once(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(ownership, "STALE", 600.0)
    owner = Owner.take("job", str(tmp_path))
    owner._ending.set()
    owner._thread.join()
    (beat,) = (tmp_path / "job" / "owner").glob("*.beat")
    beaten = json.loads(beat.read_text())
    beat.write_text(json.dumps(beaten | {"clock": beaten["clock"] - 601}))
    Owner.take("job", str(tmp_path)).release()


def test_who_takes_over_is_the_owner_and_the_one_before_notices(tmp_path):
    first = Owner.take("job", str(tmp_path))
    second = Owner.take("job", str(tmp_path), take_over=True)
    second.fence.check()
    with pytest.raises(ms.MillstreamError) as caught:
        first.fence.check()
    assert caught.value.code == "MS351"
    assert f"now it is {_user_and_host()}, process {os.getpid()}" in caught.value.what
    until(lambda: first.overtaken is not None)
    first.release()  # of what it no longer has
    second.fence.check()
    refusal(tmp_path)
    second.release()


def _user_and_host() -> str:
    return f"{ownership.current_user()}@{ownership.socket.gethostname()}"


def test_of_many_that_begin_at_once_one_becomes_the_owner(tmp_path):
    def attempt(_: int) -> Owner | None:
        with suppress(ms.MillstreamError):
            return Owner.take("job", str(tmp_path))
        return None

    with ThreadPoolExecutor(8) as pool:
        owners = [owner for owner in pool.map(attempt, range(32)) if owner is not None]
    assert len(owners) == 1
    owners[0].fence.check()
    owners[0].release()


def test_a_file_system_without_links_creates_exclusively_too(tmp_path, monkeypatch):
    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    place = Folder.of("job", str(tmp_path))
    assert place.create_new("a", b"one")
    assert not place.create_new("a", b"two")
    assert (place.read("a"), place.names()) == (b"one", ["a"])


def test_a_file_system_that_creates_nothing_exclusively_has_the_last_one_win(tmp_path):
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    place = Folder("job", "memory:/", system, "")
    assert place.create_new("a", b"one")
    assert not place.create_new("a", b"two")
    assert place.read("a") == b"one"


def test_a_record_that_cannot_be_read_keeps_others_out_only_for_a_while(tmp_path):
    folder = tmp_path / "job" / "owner"
    folder.mkdir(parents=True)
    (folder / "0000000007.json").write_text("")
    owner = Owner.take("job", str(tmp_path))
    assert owner.fence.number == 8
    owner.release()


def test_of_a_job_that_was_overtaken_no_sink_commits(tmp_path):
    class Committed:
        def __init__(self) -> None:
            self.batches: list[int] = []

        def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
            self.batches.append(batch)

    first = Owner.take("job", str(tmp_path))
    commits, sink = Commits("a1b2c3d4", {}, first.fence), Committed()
    commits.committers["sink"] = sink
    commits.commit(0, [])
    second = Owner.take("job", str(tmp_path), take_over=True)
    with pytest.raises(ms.MillstreamError, match="MS351"):
        commits.commit(1, [])
    assert sink.batches == [0]
    for each in (first, second):
        each.release()


def test_an_owner_whose_record_is_gone_owns_nothing(tmp_path):
    owner = Owner.take("job", str(tmp_path))
    (tmp_path / "job" / "owner" / "0000000001.json").unlink()
    with pytest.raises(ms.MillstreamError, match="MS351.*its record in the checkpoint was removed"):
        owner.fence.check()
    owner.release()


def test_a_checkpoint_that_cannot_be_written_says_so():
    with pytest.raises(ms.MillstreamError) as caught:
        Owner.take("job", "/dev/null/checkpoints")
    assert str(caught.value).splitlines()[:2] == [
        "MS211: job 'job' cannot write to its checkpoint '/dev/null/checkpoints/job/owner': "
        "Not a directory",
        "  What to do: name a folder, or a path where one can be created",
    ]
