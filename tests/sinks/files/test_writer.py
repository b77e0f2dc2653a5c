"""A slice becomes hidden files: in groups, of which few are held, and nothing after a failure."""

from __future__ import annotations

import errno
import gc

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import fs

from disks import Disk, folder_on, hidden
from millstream.model.errors import RunError
from millstream.plan.targets import Files
from millstream.sinks.files import writer as writer_module
from millstream.sinks.files.committer import FilesCommitter
from millstream.sinks.files.writer import FilesWriter
from millstream.sinks.slices import Slice
from millstream.system.folders import Folder

RUN = "a1b2c3d4e5f6"
JSON = Files("", "json")


def test_a_slice_without_rows_writes_nothing(tmp_path):
    place = folder_on(tmp_path / "out")
    writer = FilesWriter(place, JSON, Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": pa.array([], pa.int64())}))
    assert writer.close() == b""
    FilesCommitter(place, JSON).commit(RUN, 0, [b"", b""])
    assert not (tmp_path / "out").exists()


def test_an_aborted_writer_leaves_nothing(tmp_path):
    place = folder_on(tmp_path)
    writer = FilesWriter(place, Files("", "parquet"), Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": [1]}))
    writer._write_groups()
    assert len(hidden(tmp_path)) == 1
    (file,) = writer._open.values()
    writer.abort()
    assert hidden(tmp_path) == []
    assert file._stream.closed  # an upload that ended later would bring the file back


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_writer_that_was_closed_can_still_be_aborted(tmp_path, format):
    # Another sink of the same task may fail after this one was done.
    writer = FilesWriter(folder_on(tmp_path), Files("", format), Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": [1]}))
    assert writer.close()
    writer.abort()
    assert hidden(tmp_path) == []


def test_a_writer_that_never_wrote_can_be_aborted(tmp_path):
    FilesWriter(folder_on(tmp_path), JSON, Slice(RUN, 0, 0, 0)).abort()


def test_a_large_slice_is_written_in_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_GROUP_ROWS", 100)
    target = Files(str(tmp_path), "parquet")
    place = Folder.of("totals", target.path)
    writer = FilesWriter(place, target, Slice(RUN, 0, 0, 0))
    waiting = 0
    for start in range(0, 400, 40):
        writer.write(pa.table({"n": list(range(start, start + 40))}))
        waiting = max(waiting, writer._rows)
    writer.write(pa.table({"n": list(range(400, 1000))}))
    FilesCommitter(place, target).commit(RUN, 0, [writer.close()])
    (file,) = tmp_path.glob("*.parquet")
    made = pa.parquet.ParquetFile(file)
    groups = [made.metadata.row_group(n).num_rows for n in range(made.num_row_groups)]
    assert made.read()["n"].to_pylist() == list(range(1000))
    assert waiting < 100
    assert all(100 <= rows < 200 for rows in groups[:-1])


def test_wide_rows_do_not_wait_for_a_full_group(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_GROUP_BYTES", 1000)
    place = folder_on(tmp_path)
    writer = FilesWriter(place, JSON, Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": ["x" * 2000]}))
    assert writer._rows == 0
    assert hidden(tmp_path)
    writer.abort()


class Full(Disk):
    """A disk without room."""

    def open_output_stream(self, path, metadata):
        raise OSError(errno.ENOSPC, "Error writing bytes to file")


def test_a_full_disk_is_an_error_with_what_to_do(tmp_path):
    place = folder_on(tmp_path, Full())
    writer = FilesWriter(place, JSON, Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": [1]}))
    with pytest.raises(RunError) as caught:
        writer.close()
    assert str(caught.value) == (
        f"MS208 in step 'totals': cannot write to {str(tmp_path)!r}: No space left on device\n"
        "  What to do: free some space there, then run the job again: with a checkpoint, it "
        "resumes after the last committed batch\n"
        "  More: millstream help MS208"
    )
    assert isinstance(caught.value.__cause__, OSError)
    writer.abort()
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("format", ["parquet", "json", "csv", "text"])
def test_a_disk_that_fills_up_half_way_is_such_an_error_too(tmp_path, monkeypatch, format):
    monkeypatch.setattr(writer_module, "_GROUP_ROWS", 1)
    place = folder_on(tmp_path)
    monkeypatch.setattr(
        Folder,
        "create",
        lambda self, name, compression: fs.LocalFileSystem().open_output_stream("/dev/full"),
    )
    writer = FilesWriter(place, Files("", format), Slice(RUN, 0, 0, 0))
    rows = pa.table({"n": ["x" * 1_000_000] * 10})
    with pytest.raises(RunError, match="No space left on device"):
        _ = [writer.write(rows) for _ in range(10)]
    writer.abort()
    del writer
    gc.collect()  # a half-open writer of parquet would complain here


def test_a_path_that_cannot_be_a_folder_is_such_an_error_too():
    place = Folder.of("totals", "/dev/null/totals")
    writer = FilesWriter(place, JSON, Slice(RUN, 0, 0, 0))
    writer.write(pa.table({"n": [1]}))
    with pytest.raises(RunError, match="MS208 in step 'totals': .*'/dev/null/totals': Not a dir"):
        writer.close()


def test_of_many_folders_only_some_files_are_open_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_MOST_OPEN", 3)
    monkeypatch.setattr(writer_module, "_GROUP_ROWS", 10)
    target = Files(str(tmp_path), "json", (), ("k",))
    place = Folder.of("out", target.path)
    writer = FilesWriter(place, target, Slice(RUN, 0, 0, 0))
    for start in range(0, 100, 10):
        numbers = list(range(start, start + 10))
        writer.write(pa.table({"k": [n % 7 for n in numbers], "n": numbers}))
        assert len(writer._open) <= 3
    FilesCommitter(place, target).commit(RUN, 0, [writer.close()])
    lines = [line for f in tmp_path.glob("k=*/part-*") for line in f.read_text().splitlines()]
    assert sorted(lines) == sorted(f'{{"n":{n}}}' for n in range(100))
    assert hidden(tmp_path) == []


def test_an_aborted_writer_leaves_no_file_of_any_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_MOST_OPEN", 1)
    target = Files(str(tmp_path), "json", (), ("team",))
    writer = FilesWriter(Folder.of("out", target.path), target, Slice(RUN, 0, 0, 0))
    teams = ["red", "blue", "red", None, "a/b"]
    writer.write(pa.table({"team": teams, "n": [1, 2, 3, 4, 5]}))
    writer._write_groups()
    assert len(hidden(tmp_path)) == 4
    writer.abort()
    assert hidden(tmp_path) == []
