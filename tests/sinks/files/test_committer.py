"""Files are committed exactly once, whatever crashes when, for whoever reads them meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disks import Crash, Disk, Reader, disks, folder_on, hidden, shown
from millstream.model.errors import RunError
from millstream.plan.targets import Files
from millstream.sinks.files.committer import FilesCommitter
from millstream.sinks.files.writer import FilesWriter
from millstream.sinks.slices import Slice
from millstream.system.folders import Folder

RUN = "a1b2c3d4e5f6"
JSON = Files("", "json")


def written(folder: Folder, batch: int, slices: Iterable[list[int]]) -> list[bytes]:
    """The receipts of slices with these rows; attempts are numbered anew each time, as by Spark."""
    receipts = []
    for number, rows in enumerate(slices):
        writer = FilesWriter(folder, JSON, Slice(RUN, batch, number, attempt=number))
        writer.write(pa.table({"n": rows}))
        receipts.append(writer.close())
    return receipts


def abandoned(folder: Folder, batch: int, rows: list[int]) -> None:
    """An attempt that ends without a word, half-way."""
    writer = FilesWriter(folder, JSON, Slice(RUN, batch, number=0, attempt=99))
    writer.write(pa.table({"n": rows}))
    writer._write_groups()


def crashes(disk: Disk, act: Callable[[], object]) -> Iterator[int]:
    """Lets ``act`` crash before each of its operations in turn, until it gets through."""
    for last in range(1000):
        disk.operations, disk.last = 0, last
        try:
            act()
        except Crash:
            disk.last = None
            yield last
        else:
            disk.last = None
            assert last > 3, "nothing crashed"
            return


def test_a_commit_shows_the_rows_and_leaves_nothing_hidden(tmp_path):
    place = folder_on(tmp_path)
    receipts = written(place, 7, [[1, 2], [], [3]])
    assert shown(tmp_path) == []
    FilesCommitter(place, JSON).commit(RUN, 7, receipts)
    names = sorted(file.name for file in tmp_path.glob("part-*"))
    assert names == [
        "part-a1b2c3d4-0000000007-00000.json",
        "part-a1b2c3d4-0000000007-00002.json",
    ]
    assert shown(tmp_path) == [1, 2, 3]
    assert hidden(tmp_path) == []


@disks
def test_a_commit_that_crashes_anywhere_is_completed_by_the_next_try(tmp_path, torn):
    reader = Reader(tmp_path)
    disk = Disk(reader.look, torn)
    place = folder_on(tmp_path, disk)
    batches = iter(range(1000))

    def first_try() -> None:
        nonlocal batch, rows, receipts
        batch = next(batches)
        rows = [batch * 10 + n for n in range(6)]
        receipts = written(folder_on(tmp_path), batch, [rows[:1], rows[1:3], rows[3:]])
        FilesCommitter(place, JSON).commit(RUN, batch, receipts)

    batch, rows, receipts, expected = 0, [], [], []
    for _ in crashes(disk, first_try):
        # The second try divides the rows otherwise, and into more slices.
        again = written(place, batch, [rows[4:], rows[2:4], rows[1:2], rows[:1]])
        FilesCommitter(place, JSON).commit(RUN, batch, again)
        expected += rows
        assert shown(tmp_path) == sorted(expected)
        assert hidden(tmp_path) == []


@disks
def test_a_commit_that_fails_can_be_repeated_in_the_same_process(tmp_path, torn):
    reader = Reader(tmp_path)
    disk = Disk(reader.look, torn)
    place = folder_on(tmp_path, disk)
    committer = FilesCommitter(place, JSON)
    receipts = written(place, 3, [[1], [2, 3], [4]])
    for _ in crashes(disk, lambda: committer.commit(RUN, 3, receipts)):
        pass
    assert shown(tmp_path) == [1, 2, 3, 4]
    assert hidden(tmp_path) == []


@disks
def test_crash_upon_crash_ends_well(tmp_path, torn):
    reader = Reader(tmp_path)
    disk = Disk(reader.look, torn)
    place = folder_on(tmp_path, disk)
    rows = list(range(8))
    slicings = [[rows], [rows[:4], rows[4:]], [rows[n : n + 1] for n in rows]]
    tries = iter(range(1000))

    def another_try() -> None:
        receipts = written(folder_on(tmp_path), 0, slicings[next(tries) % 3])
        FilesCommitter(place, JSON).commit(RUN, 0, receipts)

    for _ in crashes(disk, another_try):
        pass
    assert shown(tmp_path) == rows
    assert hidden(tmp_path) == []


def test_a_retried_batch_leaves_files_that_may_have_been_read(tmp_path):
    place = folder_on(tmp_path)
    FilesCommitter(place, JSON).commit(RUN, 0, written(place, 0, [[1], [2]]))
    before = {file.name: file.stat().st_ino for file in tmp_path.glob("part-*")}
    FilesCommitter(place, JSON).commit(RUN, 0, written(place, 0, [[2], [], [1]]))
    assert {file.name: file.stat().st_ino for file in tmp_path.glob("part-*")} == before
    assert hidden(tmp_path) == []


@disks
def test_nothing_remains_of_a_batch_that_turns_out_empty(tmp_path, torn):
    disk = Disk(torn=torn)
    place = folder_on(tmp_path, disk)
    batches = iter(range(1000))

    def try_with_rows() -> None:
        nonlocal batch
        batch = next(batches)
        receipts = written(folder_on(tmp_path), batch, [[1], [2]])
        FilesCommitter(place, JSON).commit(RUN, batch, receipts)
        FilesCommitter(place, JSON).commit(RUN, batch, [])

    batch = 0
    for _ in crashes(disk, try_with_rows):
        FilesCommitter(place, JSON).commit(RUN, batch, [])
        assert shown(tmp_path) == []
        assert hidden(tmp_path) == []


@disks
def test_a_job_that_is_put_back_undoes_what_came_after(tmp_path, torn):
    disk = Disk(torn=torn)
    roots = (tmp_path / str(number) for number in range(1000))

    def commit(batch: int, rows: list[int]) -> None:
        receipts = written(folder_on(root), batch, [[row] for row in rows])
        FilesCommitter(folder_on(root, disk), JSON).commit(RUN, batch, receipts)

    def put_back() -> None:
        nonlocal root
        root = next(roots)
        disk.last, last = None, disk.last
        for batch in range(5):
            commit(batch, [batch * 10, batch * 10 + 1])
        disk.operations, disk.last = 0, last
        commit(2, [20, 21, 30])

    root = tmp_path
    for _ in crashes(disk, put_back):
        commit(2, [20, 21, 30])
        assert shown(root) == [0, 1, 10, 11, 20, 21, 30]
        commit(3, [31, 40, 41])
        assert shown(root) == [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]
        assert hidden(root) == []


def test_another_life_of_the_job_adds_to_the_folder(tmp_path):
    place = folder_on(tmp_path)
    FilesCommitter(place, JSON).commit(RUN, 0, written(place, 0, [[1]]))
    writer = FilesWriter(place, JSON, Slice("ffff0000", 0, 0, 0))
    writer.write(pa.table({"n": [2]}))
    FilesCommitter(place, JSON).commit("ffff0000", 0, [writer.close()])
    FilesCommitter(place, JSON).commit("ffff0000", 1, [])
    assert shown(tmp_path) == [1, 2]


def test_a_batch_that_is_resumed_in_another_format_is_not_there_twice(tmp_path):
    place = folder_on(tmp_path)
    FilesCommitter(place, JSON).commit(RUN, 0, written(place, 0, [[1]]))
    csv = Files("", "csv")
    writer = FilesWriter(place, csv, Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": [1]}))
    FilesCommitter(place, csv).commit(RUN, 0, [writer.close()])
    assert [file.name for file in tmp_path.glob("part-*")] == [
        "part-a1b2c3d4-0000000000-00000.json"
    ]


def test_attempts_that_died_are_cleaned_up(tmp_path):
    place = folder_on(tmp_path)
    committer = FilesCommitter(place, JSON)
    receipts = written(place, 0, [[1]])
    abandoned(place, 0, [1])
    written(place, 0, [[1]])  # an attempt that Spark let lose
    committer.commit(RUN, 0, receipts)
    assert (shown(tmp_path), hidden(tmp_path)) == ([1], [])
    abandoned(place, 1, [2])
    committer.commit(RUN, 1, [])
    assert (shown(tmp_path), hidden(tmp_path)) == ([1], [])


def test_a_slow_attempt_does_not_mind_that_its_file_is_gone(tmp_path):
    place = folder_on(tmp_path)
    slow = FilesWriter(place, JSON, Slice(RUN, 0, 0, 1))
    slow.write(pa.table({"n": [1]}))
    slow._write_groups()
    FilesCommitter(place, JSON).commit(RUN, 0, written(place, 0, [[1]]))
    slow.abort()
    assert (shown(tmp_path), hidden(tmp_path)) == ([1], [])


tries = st.lists(
    st.tuples(
        st.integers(1, 4),  # slices
        st.one_of(st.none(), st.integers(0, 15)),  # the operation before which it dies
        st.booleans(),  # in a new process
        st.booleans(),  # beside an attempt that dies
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=100)
@given(batches=st.lists(st.tuples(st.integers(0, 6), tries), max_size=5), torn=st.booleans())
def test_any_story_of_crashes_ends_with_each_row_once(tmp_path_factory, batches, torn):
    root = tmp_path_factory.mktemp("story")
    reader = Reader(root)
    disk = Disk(reader.look, torn)
    place = folder_on(root, disk)
    committer = FilesCommitter(place, JSON)
    for batch, (size, attempts) in enumerate(batches):
        rows = [batch * 10 + n for n in range(size)]
        for slices, last, new_process, dying in attempts:
            if dying:
                abandoned(folder_on(root), batch, [-1])
            disk.operations, disk.last = 0, last
            if new_process:
                committer = FilesCommitter(place, JSON)
            with suppress(Crash):
                divided = [rows[n::slices] for n in range(slices)]
                committer.commit(RUN, batch, written(place, batch, divided))
            disk.last = None
        committer.commit(RUN, batch, written(place, batch, [rows]))
        reader.look()
        assert hidden(root) == []
    assert shown(root) == [b * 10 + n for b, (size, _) in enumerate(batches) for n in range(size)]


def test_every_reader_reads_the_folder(tmp_path):
    target = Files(str(tmp_path), "parquet")
    place = Folder.of("totals", target.path)
    for batch in range(2):
        writer = FilesWriter(place, target, Slice(RUN, batch, 0, 0))
        writer.write(pa.table({"n": [batch]}))
        FilesCommitter(place, target).commit(RUN, batch, [writer.close()])
    assert sorted(pl.read_parquet(tmp_path)["n"]) == [0, 1]
    assert sorted(pd.read_parquet(tmp_path)["n"]) == [0, 1]
    assert sorted(pyarrow.dataset.dataset(tmp_path).to_table()["n"].to_pylist()) == [0, 1]

    abandoned(place, 2, [7])
    assert hidden(tmp_path) != []
    assert sorted(pl.read_parquet(tmp_path / "*.parquet")["n"]) == [0, 1]
    assert sorted(pl.read_parquet(tmp_path / "**/*.parquet")["n"]) == [0, 1]
    assert sorted(pd.read_parquet(tmp_path)["n"]) == [0, 1]


def test_what_a_task_wrote_on_another_machine_is_missed(tmp_path):
    receipts = written(folder_on(tmp_path / "there"), 0, [[1]])
    with pytest.raises(RunError) as caught:
        FilesCommitter(folder_on(tmp_path / "here"), JSON).commit(RUN, 0, receipts)
    assert caught.value.code == "MS208"
    assert "a folder that all machines of the cluster share" in caught.value.fix
    assert shown(tmp_path / "here") == []


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "{}/"])
def test_a_folder_is_a_path_or_a_uri(tmp_path, form):
    target = Files(form.format(tmp_path / "out"), "json")
    place = Folder.of("totals", target.path)
    FilesCommitter(place, target).commit(RUN, 0, written(place, 0, [[1]]))
    assert shown(tmp_path / "out") == [1]


def test_a_relative_path_is_below_where_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Folder.of("totals", "out:1")
    FilesCommitter(place, JSON).commit(RUN, 0, written(place, 0, [[1]]))
    assert shown(tmp_path / "out:1") == [1]
