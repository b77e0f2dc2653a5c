"""Files by Hadoop's file systems, which checkpoints and outputs may be on: local, HDFS, S3."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

from millstream.spark.compat.moved import reach


class Files:
    """Files and folders by their full paths. What is written is there whole, or not at all."""

    def __init__(self, context: SparkContext | None) -> None:
        if context is None:  # before there is one, the JVM has Hadoop's own settings
            SparkContext._ensure_initialized()
        self._jvm = reach(context or SparkContext, "_jvm")
        if context is None:
            self._settings = self._jvm.org.apache.hadoop.conf.Configuration()
        else:
            self._settings = reach(context, "_jsc").hadoopConfiguration()

    def _path(self, path: str) -> tuple[Any, Any]:
        at = self._jvm.org.apache.hadoop.fs.Path(path)
        return at.getFileSystem(self._settings), at

    def full(self, path: str) -> str:
        """A path with its file system, and from the root."""
        system, at = self._path(path)
        return str(system.makeQualified(at).toString())

    def exists(self, path: str) -> bool:
        system, at = self._path(path)
        return bool(system.exists(at))

    def make(self, folder: str) -> None:
        """Makes a folder, and those that it is in, where they are not there."""
        system, at = self._path(folder)
        system.mkdirs(at)

    def write(self, path: str, data: bytes) -> None:
        """Writes a new file: under another name first, or a reader could find half of it."""
        system, at = self._path(path)
        part = at.suffix(".part")
        stream = system.create(part, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        system.delete(at, False)
        if not system.rename(part, at):
            raise OSError(f"cannot write {path}")

    def read(self, path: str) -> bytes:
        system, at = self._path(path)
        stream = system.open(at)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none if it is not there."""
        system, at = self._path(folder)
        if not system.exists(at):
            return []
        return sorted(str(each.getPath().getName()) for each in system.listStatus(at))

    def found(self, pattern: str) -> list[tuple[str, int]]:
        """The files in the folders that match a pattern, and when they were last changed, in ms."""
        system, at = self._path(pattern)
        folders = [each for each in system.globStatus(at) or () if each.isDirectory()]
        files = [file for each in folders for file in system.listStatus(each.getPath())]
        return [
            (str(file.getPath().toString()), int(file.getModificationTime()))
            for file in files
            if not file.isDirectory()
        ]

    def delete(self, path: str) -> None:
        """Removes a file, or a folder and all in it; nothing happens if it is not there."""
        system, at = self._path(path)
        system.delete(at, True)
