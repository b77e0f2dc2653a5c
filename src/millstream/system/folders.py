"""The folder of a sink or checkpoint, on any file system, and its errors."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Literal

import pyarrow as pa
from pyarrow import fs

from millstream.model.errors import PlanError, RunError

Kind = Literal["sink", "checkpoint"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_SPARKS_S3 = re.compile(r"^s3[an]://")

AGAIN = "then run the job again: with a checkpoint, it resumes after the last committed batch"
_NO_FOLDER = "name a folder, or a path where one can be created"
_NOT_ALLOWED = f"let the user that the job runs as write there, {AGAIN}"
_NO_ROOM = f"free some space there, {AGAIN}"
_FIXES = {
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG), _NO_FOLDER),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _NOT_ALLOWED),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _NO_ROOM),
}


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the files of a sink are, or of a job's checkpoint.

    ``path`` is the path in the program; names are below ``root``. Moving a file is atomic on a
    disk, and a copy and a removal in an object store.
    """

    sink: str
    path: str
    system: fs.FileSystem
    root: str
    kind: Kind = "sink"

    @classmethod
    def of(cls, sink: str, path: str, kind: Kind = "sink") -> Folder:
        """The folder that a path or URI names."""
        if not _SCHEME.match(path):
            return cls(sink, path, fs.LocalFileSystem(), os.path.abspath(path), kind)
        try:
            system, root = fs.FileSystem.from_uri(_SPARKS_S3.sub("s3://", path))
        except pa.ArrowInvalid as error:
            raise PlanError(
                "MS113",
                f"{path!r} names no folder that files can be written to: {error}",
                fix="write a plain path, or one that begins with file:, s3:, gs: or hdfs:",
                step=sink,
            ) from error
        return cls(sink, path, system, root.rstrip("/"), kind)

    @property
    def place(self) -> tuple[str, str]:
        """Equal for two objects that are the same folder."""
        return self.system.type_name, self.root

    def names(self, below: str = "") -> list[str]:
        """The names of the files in a folder, in order; none if the folder does not exist."""
        selector = fs.FileSelector(self._at(below), allow_not_found=True)
        found = self.system.get_file_info(selector)
        return sorted(info.base_name for info in found if info.type == fs.FileType.File)

    def files(self) -> list[str]:
        """All files here and in folders below, by their paths, in order."""
        selector = fs.FileSelector(self.root, allow_not_found=True, recursive=True)
        found = self.system.get_file_info(selector)
        names = [info.path for info in found if info.type == fs.FileType.File]
        return sorted(name.removeprefix(self.root).lstrip("/") for name in names)

    def folders(self, below: str) -> list[str]:
        """The names of the folders in a folder, in order."""
        selector = fs.FileSelector(self._at(below), allow_not_found=True)
        found = self.system.get_file_info(selector)
        return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)

    def make(self, below: str) -> None:
        """Creates a folder and those above it, if they are missing."""
        self.system.create_dir(self._at(below), recursive=True)

    def create(self, name: str, compression: str | None = None) -> pa.NativeFile:
        """A stream that writes a file."""
        return self.system.open_output_stream(self._at(name), compression=compression)

    def create_new(self, name: str, content: bytes) -> bool:
        """Writes a complete file that does not exist yet; returns whether this call did.

        On a local or mounted file system, one of two calls at the same time returns True. Elsewhere
        the last one does.
        """
        if isinstance(self.system, fs.LocalFileSystem):
            return _linked(self._at(name), content)
        if self.system.get_file_info(self._at(name)).type != fs.FileType.NotFound:
            return False
        with self.create(name) as stream:
            stream.write(content)
        return self.read(name) == content

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self.system.open_input_stream(self._at(name), compression=None) as stream:
            return bytes(stream.read())

    def move(self, name: str, to: str) -> None:
        """Renames a file, and replaces one that has the new name."""
        self.system.move(self._at(name), self._at(to))

    def remove(self, name: str) -> None:
        """Removes a file, if it exists: another attempt may have removed it."""
        with suppress(FileNotFoundError):
            self.system.delete_file(self._at(name))

    def remove_folder(self, below: str) -> None:
        """Removes a folder and its content, as far as possible."""
        with suppress(OSError):
            self.system.delete_dir(self._at(below))

    def remove_empty(self, below: str) -> None:
        """Removes an empty folder, and those above it that contain nothing else."""
        while below and not self.names(below) and not self.folders(below):
            self.remove_folder(below)
            below = below.rpartition("/")[0]

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns errors of the file system into errors with the sink or job, path and cause."""
        try:
            yield
        except OSError as error:
            cause = os.strerror(error.errno) if error.errno else str(error)
            fix = f"make sure that the job can write there, {AGAIN}"
            raise self.failure(cause, _FIXES.get(error.errno or 0, fix)) from error

    def failure(self, cause: str, fix: str) -> RunError:
        """The error with the reason why nothing can be written here."""
        if self.kind == "checkpoint":
            what = f"job {self.sink!r} cannot write to its checkpoint {self.path!r}: {cause}"
            return RunError("MS211", what, fix=fix)
        return RunError("MS208", f"cannot write to {self.path!r}: {cause}", fix=fix, step=self.sink)

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root


def _linked(path: str, content: bytes) -> bool:
    """Writes a file under a temporary name, and then gives it its own, if that is free."""
    other = f"{path}.{token_hex(4)}.tmp"
    try:
        with open(other, "xb") as file:
            file.write(content)
        try:
            os.link(other, path)
        except FileExistsError:
            return os.stat(other).st_nlink > 1  # NFS may have lost the answer to this link
        except OSError:  # a file system without links
            try:
                with open(path, "xb") as file:
                    file.write(content)
            except FileExistsError:
                return False
        return True
    finally:
        with suppress(OSError):
            os.unlink(other)
