"""Files of a job that was overtaken: at whatever point it stood still, no row is lost or twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from disks import Disk, Reader, disks, hidden, shown
from millstream.model.errors import MillstreamError, RunError
from millstream.plan.targets import Files
from millstream.sinks.fence import Fence, record_name
from millstream.sinks.files.committer import FilesCommitter
from millstream.sinks.files.writer import FilesWriter
from millstream.sinks.slices import Slice
from millstream.spark.batches.commits import Commits
from millstream.system.folders import Folder

RUN = "a1b2c3d4e5f6"
JSON = Files("", "json")


class PausedDisk(Disk):
    """A disk on which time passes before the operation of that number: ``meanwhile`` happens."""

    def __init__(self, look: Callable[[], object], torn: bool) -> None:
        super().__init__(look, torn)
        self.at: int | None = None
        self.meanwhile: Callable[[], object] = lambda: None

    def _do(self, name, *arguments, **named):
        if self.operations == self.at:
            self.at = None
            self.meanwhile()
        return super()._do(name, *arguments, **named)


class Process:
    """One that owns the checkpoint, until another one comes, and commits batches to files."""

    def __init__(self, root: Path, number: int, disk: Disk | None = None) -> None:
        owners = root.parent / f"{root.name}-owners"
        owners.mkdir(exist_ok=True)
        self.fence = Fence("job", str(owners), number, f"token{number:03}")
        (owners / record_name(number)).write_text(f'{{"token": "{self.fence.token}"}}')
        system = fs.PyFileSystem(disk) if disk else fs.LocalFileSystem()
        self.folder = Folder("totals", str(root), system, str(root))
        self.commits = Commits(RUN, {}, self.fence)
        self.commits.committers["totals"] = FilesCommitter(self.folder, JSON, self.fence)

    def write(self, batch: int, slices: list[list[int]]) -> list[pa.RecordBatch]:
        """Lets tasks write; returns their receipts."""
        plain = Folder.of("totals", self.folder.path)
        receipts = []
        for number, rows in enumerate(slices):
            of = Slice(RUN, batch, number, attempt=number, owner=self.fence.owner)
            writer = FilesWriter(plain, JSON, of)
            writer.write(pa.table({"n": rows}))
            receipts.append(Receipt(writer.close()))
        return receipts

    def commit(self, batch: int, slices: list[list[int]]) -> None:
        self.commits.commit(batch, self.write(batch, slices))


class Receipt:
    kind, node = "receipt", "totals"

    def __init__(self, payload: bytes) -> None:
        self.payload = payload


def rows_of(batch: int) -> list[int]:
    return [batch * 10 + n for n in range(6)]


def in_slices(batch: int, size: int) -> list[list[int]]:
    rows = rows_of(batch)
    return [rows[n : n + size] for n in range(0, len(rows), size)]


def overtaken_anywhere(
    tmp_path: Path, torn: bool, before: Callable[[Path], object], batch: int, resumed: bool
) -> None:
    """A process pauses before each operation of its commit in turn, and is overtaken."""
    ended = []
    for at in range(1000):
        root = tmp_path / str(at)
        before(root)
        reader = Reader(root)
        disk = PausedDisk(reader.look, torn)
        old = Process(root, 2, disk)
        if not resumed:
            old.commit(batch - 1, in_slices(batch - 1, 6))
        receipts = old.write(batch, in_slices(batch, 3))
        disk.operations, disk.at = 0, at

        def successor(root: Path = root) -> None:
            new = Process(root, 3)
            new.commit(batch, in_slices(batch, 2))
            new.commit(batch + 1, in_slices(batch + 1, 2))

        disk.meanwhile = successor
        try:
            old.commits.commit(batch, receipts)
        except MillstreamError as error:
            ended.append(error.code)
        if disk.at is not None:
            assert set(ended) == {"MS351"}
            assert at > 5
            return
        assert shown(root) == sorted(n for b in range(batch + 2) for n in rows_of(b)), at
        assert hidden(root) == [], at


@disks
def test_a_process_that_is_overtaken_in_its_first_commit_loses_nothing(tmp_path, torn):
    def before(root: Path) -> None:
        Process(root, 1).commit(0, in_slices(0, 3))

    overtaken_anywhere(tmp_path, torn, before, 1, resumed=True)


@disks
def test_a_process_that_is_overtaken_in_a_later_commit_loses_nothing(tmp_path, torn):
    overtaken_anywhere(tmp_path, torn, lambda root: None, 1, resumed=False)


@disks
def test_a_process_that_is_overtaken_while_it_completes_the_commit_of_another_loses_nothing(
    tmp_path, torn
):
    def before(root: Path) -> None:
        dying = Disk()
        first = Process(root, 1, dying)
        first.commit(0, in_slices(0, 3))
        receipts = first.write(1, in_slices(1, 1))
        dying.operations, dying.last = 0, 5  # it has decided, and shown some of the files
        with suppress(Exception):
            first.commits.commit(1, receipts)
        assert 6 < len(shown(root)) < 12

    overtaken_anywhere(tmp_path, torn, before, 1, resumed=True)


@disks
def test_a_process_that_is_overtaken_after_it_was_put_back_loses_nothing(tmp_path, torn):
    def before(root: Path) -> None:
        first = Process(root, 1)
        for batch in range(5):
            first.commit(batch, in_slices(batch, 3))
        # Files that come again later may be read otherwise, which this reader does not allow for.

    for at in range(40):
        root = tmp_path / str(at)
        before(root)
        disk = PausedDisk(lambda: None, torn)
        old = Process(root, 2, disk)
        receipts = old.write(1, in_slices(1, 3))
        disk.operations, disk.at = 0, at

        def successor(root: Path = root) -> None:
            new = Process(root, 3)
            new.commit(1, in_slices(1, 2))
            new.commit(2, in_slices(2, 2))

        disk.meanwhile = successor
        with suppress(MillstreamError):
            old.commits.commit(1, receipts)
        if disk.at is None:
            assert shown(root) == sorted(n for b in range(3) for n in rows_of(b)), at
        else:
            assert shown(root) == sorted(n for b in range(2) for n in rows_of(b)), at


@disks
def test_a_process_that_is_overtaken_takes_nothing_of_a_successor_that_has_not_finished(
    tmp_path, torn
):
    for at in range(1000):
        root = tmp_path / str(at)
        Process(root, 1).commit(0, in_slices(0, 3))
        disk = PausedDisk(lambda: None, torn)
        old = Process(root, 2, disk)
        receipts = old.write(1, in_slices(1, 3))
        disk.operations, disk.at = 0, at
        begun: list = []

        def successor(root: Path = root, begun: list = begun) -> None:
            new = Process(root, 3)
            new.commit(1, in_slices(1, 2))
            begun += [new, new.write(2, in_slices(2, 2))]

        disk.meanwhile = successor
        with suppress(MillstreamError):
            old.commits.commit(1, receipts)
        if disk.at is not None:
            assert at > 5
            return
        new, its_receipts = begun
        new.commits.commit(2, its_receipts)
        assert shown(root) == sorted(n for b in range(3) for n in rows_of(b)), at
        assert hidden(root) == [], at


def test_a_process_that_was_overtaken_before_its_commit_touches_nothing(tmp_path):
    root = tmp_path / "out"
    old = Process(root, 1)
    old.commit(0, in_slices(0, 3))
    receipts = old.write(1, in_slices(1, 3))
    new = Process(root, 2)
    for batch in (1, 2, 3):
        new.commit(batch, in_slices(batch, 2))
    before = {file.name: file.stat().st_ino for file in root.glob("part-*")}
    with pytest.raises(RunError, match="MS351: job 'job' no longer owns its checkpoint"):
        old.commits.commit(1, receipts)
    assert {file.name: file.stat().st_ino for file in root.glob("part-*")} == before
    assert len(shown(root)) == 24


def test_what_a_woken_process_still_writes_is_never_shown_and_is_removed(tmp_path):
    root = tmp_path / "out"
    old, new = Process(root, 1), Process(root, 2)
    new.commit(0, in_slices(0, 3))
    old.write(0, in_slices(0, 2))
    new.commit(1, in_slices(1, 3))
    assert shown(root) == [*rows_of(0), *rows_of(1)]
    Process(root, 3).commit(2, in_slices(2, 3))
    assert hidden(root) == []
    assert [f.name for f in (root / "_millstream" / RUN).iterdir()] == ["0000000003-token003"]
