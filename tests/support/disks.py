"""Disks that die or stand still at any operation, and what can be seen of the files on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from millstream.system.folders import Folder

disks = pytest.mark.parametrize("torn", [False, True], ids=["disk", "object store"])


class Crash(Exception):  # noqa: N818 - it is no error
    """The process is killed."""


class Disk(fs.FileSystemHandler):
    """A disk that dies before its ``last`` operation, and is looked at after each.

    ``torn``: a move is a copy, then a removal, as in an object store.
    """

    def __init__(self, look: Callable[[], object] = lambda: None, torn: bool = False) -> None:
        self.look, self.torn = look, torn
        self.last: int | None = None
        self.operations = 0
        self._local = fs.LocalFileSystem()

    def _do(self, name: str, *arguments: Any, **named: Any) -> Any:
        if self.last is not None and self.operations >= self.last:
            raise Crash(name)
        self.operations += 1
        result = getattr(self._local, name)(*arguments, **named)
        self.look()
        return result

    def get_type_name(self):
        return "disk"

    def normalize_path(self, path):
        return path

    def get_file_info(self, paths):
        return self._do("get_file_info", paths)

    def get_file_info_selector(self, selector):
        return self._do("get_file_info", selector)

    def create_dir(self, path, recursive):
        self._do("create_dir", path, recursive=recursive)

    def delete_file(self, path):
        self._do("delete_file", path)

    def delete_dir(self, path):
        self._do("delete_dir", path)

    def move(self, source, target):
        if self.torn:
            self._do("copy_file", source, target)
            self._do("delete_file", source)
        else:
            self._do("move", source, target)

    def open_input_stream(self, path):
        return self._do("open_input_stream", path, compression=None)

    def open_output_stream(self, path, metadata):
        return self._do("open_output_stream", path, compression=None)

    def _never(self, *arguments, **named):
        raise AssertionError("a sink has no use for this")  # pyarrow requires every method

    copy_file = delete_dir_contents = delete_root_dir_contents = _never
    open_input_file = open_append_stream = _never


class Reader:
    """Reads the folder again and again, as an incremental reader does, and checks what it sees."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: dict[str, list[int]] = {}

    def look(self) -> None:
        found = {file.name: rows_in(file) for file in self.root.glob("part-*")}
        rows = [row for rows in found.values() for row in rows]
        assert len(rows) == len(set(rows)), "a row in two files"
        for name, before in self.seen.items():
            assert found.get(name) == before, "a file changed after it was read"
        self.seen = found


def rows_in(file: Path) -> list[int]:
    return [json.loads(line)["n"] for line in file.read_text().splitlines()]


def shown(root: Path) -> list[int]:
    return sorted(row for file in root.glob("part-*") for row in rows_in(file))


def hidden(root: Path) -> list[str]:
    return sorted(file.name for file in root.glob("_millstream/**/*") if file.is_file())


def folder_on(root: Path, disk: Disk | None = None) -> Folder:
    """The folder of the sink ``totals``, on that disk."""
    system = fs.PyFileSystem(disk) if disk else fs.LocalFileSystem()
    return Folder("totals", str(root), system, str(root))
