"""Files in folders by the values of columns, and what a run does with earlier results."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import fs

from disks import Crash, Disk, disks, hidden
from millstream.plan.targets import Files
from millstream.sinks.files.committer import FilesCommitter
from millstream.sinks.files.partitions import by_folder
from millstream.sinks.files.writer import FilesWriter
from millstream.sinks.slices import Slice
from millstream.system.folders import Folder

RUN = "a1b2c3d4e5f6"


def write(root: Path, rows: pa.Table, run: str = RUN, disk: Disk | None = None, **how) -> None:
    """Writes a batch in two slices."""
    target = Files(str(root), how.pop("format", "parquet"), **how)
    place = Folder.of("out", target.path)
    receipts = []
    for number in range(2):
        writer = FilesWriter(place, target, Slice(run, 0, number, 0))
        for row in range(number, rows.num_rows, 2):
            writer.write(rows.slice(row, 1))
        receipts.append(writer.close())
    if disk is not None:
        place = Folder("out", target.path, fs.PyFileSystem(disk), target.path)
    FilesCommitter(place, target).commit(run, 0, receipts)


TEAMS = pa.table({"team": ["red", "blue", "red", None, "a/b"], "n": [1, 2, 3, 4, 5]})


@pytest.mark.parametrize("format", ["parquet", "json", "csv", "text"])
def test_rows_are_in_the_folder_of_their_values(tmp_path, format):
    rows = TEAMS.set_column(1, "n", TEAMS["n"].cast(pa.string()))
    write(tmp_path, rows, format=format, partition_by=("team",))
    folders = {file.parent.name for file in tmp_path.glob("*/part-*")}
    assert folders == {"team=red", "team=blue", "team=__HIVE_DEFAULT_PARTITION__", "team=a%2Fb"}
    assert list(tmp_path.glob("part-*")) == []
    if format != "parquet":
        texts = [file.read_text() for file in tmp_path.glob("team=red/part-*")]
        assert all("red" not in text for text in texts)
        assert sum(text.count("1") + text.count("3") for text in texts) == 2


def test_polars_and_arrow_read_the_values_back(tmp_path):
    write(tmp_path, TEAMS, partition_by=("team",))
    read = pl.read_parquet(tmp_path, hive_partitioning=True).sort("n")
    assert read["n"].to_list() == [1, 2, 3, 4, 5]
    assert read["team"].to_list() == ["red", "blue", "red", None, "a/b"]
    assert hidden(tmp_path) == []


def test_several_columns_are_folders_in_folders(tmp_path):
    rows = TEAMS.append_column("day", pa.array([date(2026, 11, 17)] * 5))
    write(tmp_path, rows, partition_by=("day", "team"))
    assert (tmp_path / "day=2026-11-17" / "team=blue").is_dir()
    read = pl.read_parquet(tmp_path, hive_partitioning=True)
    assert sorted(read["n"]) == [1, 2, 3, 4, 5]
    assert set(read["day"]) == {date(2026, 11, 17)}


# What Spark's own writer names these folders, as measured with PySpark 4.2.
@pytest.mark.parametrize(
    ("value", "folder"),
    [
        (7, "v=7"),
        (True, "v=true"),
        (Decimal("1.50"), "v=1.50"),
        (date(2024, 2, 29), "v=2024-02-29"),
        (datetime(2024, 2, 29, 12, 30, tzinfo=UTC), "v=2024-02-29 12%3A30%3A00"),
        (datetime(2024, 2, 29, 0, 0, 0, 120000, UTC), "v=2024-02-29 00%3A00%3A00.12"),
        ("", "v=__HIVE_DEFAULT_PARTITION__"),
        ("a b", "v=a b"),
        ("größe", "v=größe"),
        ("x=1/2?#%", "v=x%3D1%2F2%3F%23%25"),
        ("tab\there", "v=tab%09here"),
        ("[{^'\"*\\:}]", "v=%5B%7B%5E%27%22%2A%5C%3A}%5D"),
    ],
)
def test_values_are_named_as_spark_names_them(value, folder):
    ((name, rest),) = by_folder(pa.table({"v": [value], "n": [1]}), ("v",))
    assert name == folder
    assert rest.column_names == ["n"]


def test_a_retried_batch_and_one_after_an_older_checkpoint_find_the_files_in_folders(tmp_path):
    target = Files(str(tmp_path), "json", (), ("team",))
    place = Folder.of("out", target.path)

    def commit(batch: int, *numbers: int) -> None:
        writer = FilesWriter(place, target, Slice(RUN, batch, 0, 0))
        teams = ["red" if n % 2 else "blue" for n in numbers]
        writer.write(pa.table({"team": teams, "n": list(numbers)}))
        FilesCommitter(place, target).commit(RUN, batch, [writer.close()])

    def shown() -> list[str]:
        return sorted(
            line for f in tmp_path.glob("team=*/part-*") for line in f.read_text().split()
        )

    commit(0, 1, 2)
    commit(0, 1, 2)
    commit(1, 3)
    commit(2, 4, 5)
    assert shown() == [f'{{"n":{n}}}' for n in (1, 2, 3, 4, 5)]
    commit(1, 3, 4)
    assert shown() == [f'{{"n":{n}}}' for n in (1, 2, 3, 4)]


def numbers_in(root: Path) -> list[int]:
    return sorted(pl.read_parquet(root / "**/*.parquet", hive_partitioning=False)["n"])


def test_overwriting_replaces_earlier_results_and_nothing_else(tmp_path):
    write(tmp_path, TEAMS, partition_by=("team",))
    (tmp_path / "part-00000-of-spark.parquet").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("kept")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-0.txt").write_text("kept")
    write(tmp_path, pa.table({"n": [7, 8]}), run="ffff0000", mode="overwrite")
    assert numbers_in(tmp_path) == [7, 8]
    found = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert found >= {"notes.txt", "other/part-0.txt"}
    assert list(tmp_path.glob("team=*")) == []
    write(tmp_path, pa.table({"n": pa.array([], pa.int64())}), run="eeee0000", mode="overwrite")
    assert list(tmp_path.glob("part-*")) == []


@disks
def test_overwriting_that_fails_anywhere_loses_nothing_of_before(tmp_path, torn):
    for last in range(40):
        root = tmp_path / str(last)
        write(root, pa.table({"n": [1, 2, 3]}))
        disk = Disk(torn=torn)
        disk.last = last
        done = False
        with suppress(Crash):
            write(root, pa.table({"n": [7, 8]}), "ffff0000", disk, mode="overwrite")
            done = True
        found = numbers_in(root)
        assert found == [7, 8] if done else {1, 2, 3} <= {*found} or {7, 8} <= {*found}
    assert done
