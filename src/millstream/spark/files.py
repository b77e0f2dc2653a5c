"""The sink of files: each row is in exactly one file that readers see, whatever crashes when.

    part-<run>-<batch>-<slice>.<ending>      what readers see
    _millstream/<run>/*.tmp                  what tasks write
    _millstream/<run>/<batch>.json           which of that is to be seen, and by what name

A task writes a ``.tmp`` file. The commit first writes down which of them make up the batch. That
is the decision: whoever does the batch again after a crash moves those files, and drops its own,
which hold the same rows. So a file that a reader may have read stays as it is, even if the rows are
divided into other slices the second time. When all files are moved, the decision is removed with
all else below ``_millstream``: some readers, such as Polars, look into hidden folders, too.

So files of a batch that show without a decision are all there are of it, and files of a *later*
batch tell that the job was put back to an older checkpoint: what came after it is undone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from secrets import token_hex

import pyarrow as pa

from millstream.plan.targets import Files
from millstream.spark.folders import Folder
from millstream.spark.formats import Encoder, encoder_of, settings_of
from millstream.spark.slices import Slice

Moves = dict[str, str]
"""What a file is called while it is written, and what in the end."""

# A row group is written when so many rows wait for it, or so many bytes: large enough to be read
# fast, small enough that a task holds little more than one.
_GROUP_ROWS = 128 * 1024
_GROUP_BYTES = 64 * 1024 * 1024


class FilesWriter:
    """Writes a slice to a hidden file, a group of rows at a time."""

    def __init__(self, folder: Folder, target: Files, slice: Slice) -> None:
        self._folder = folder
        self._settings = settings_of(target, folder.sink)
        self._slice = slice
        # Numbers of attempts begin anew with each start of Spark, while a decision may still
        # speak of a file of the last: so names are unique without them.
        name = f"{slice.batch:010}-{slice.number:05}-{slice.attempt}-{token_hex(4)}.tmp"
        self._name = f"{_hidden(slice.run)}/{name}"
        self._waiting: list[pa.Table] = []
        self._rows = self._bytes = 0
        self._stream: pa.NativeFile | None = None
        self._encoder: Encoder | None = None

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows until they fill a group."""
        if not rows.num_rows:
            return
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write_groups()

    def close(self) -> bytes:
        """Ends the file; a slice without rows has none."""
        if self._waiting:
            self._write_groups()
        if self._stream is None or self._encoder is None:
            return b""
        with self._folder.errors():
            self._encoder.close()
            self._stream.close()
        name = self._name.rpartition("/")[2]
        return json.dumps({"slice": self._slice.number, "file": name}).encode()

    def abort(self) -> None:
        """Removes the file; what fails here has failed before, and been told."""
        self._waiting.clear()
        for each in (self._encoder, self._stream):
            with suppress(OSError, ValueError):  # ValueError: of a stream that is closed
                if each is not None:
                    each.close()
        with suppress(OSError):
            self._folder.remove(self._name)

    def _write_groups(self) -> None:
        rows = pa.concat_tables(self._waiting)
        self._waiting.clear()
        self._rows = self._bytes = 0
        groups = max(1, rows.num_rows // _GROUP_ROWS)
        size = -(-rows.num_rows // groups)
        with self._folder.errors():
            encoder = self._encoder or self._open()
            for start in range(0, rows.num_rows, size):
                encoder.write(rows.slice(start, size))

    def _open(self) -> Encoder:
        self._folder.make(_hidden(self._slice.run))
        self._stream = self._folder.create(self._name, self._settings.stream_compression)
        self._encoder = encoder_of(self._settings, self._stream)
        return self._encoder


class FilesCommitter:
    """Makes the files of a batch seen; see the top of this module for what holds at any time."""

    def __init__(self, folder: Folder, target: Files) -> None:
        self._folder = folder
        self._ending = settings_of(target, folder.sink).ending
        # The latest batch that this committer has done: what is later has no files yet.
        self._done: int | None = None

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Ends with the files of the batch, and nothing else of it."""
        with self._folder.errors():
            hidden = set(self._folder.names(_hidden(run)))
            moves = self._decided(run, batch, self._moves(run, batch, receipts), hidden)
            for name in sorted(moves.keys() & hidden):  # the others were moved before a crash
                self._folder.move(f"{_hidden(run)}/{name}", to=moves[name])
            if moves:
                hidden.add(_decision(batch))
            for name in sorted(hidden - moves.keys()):
                self._folder.remove(f"{_hidden(run)}/{name}")
        self._done = batch

    def _moves(self, run: str, batch: int, receipts: Sequence[bytes]) -> Moves:
        told = map(json.loads, filter(None, receipts))
        return {
            each["file"]: f"part-{run[:8]}-{batch:010}-{each['slice']:05}.{self._ending}"
            for each in told
        }

    def _decided(self, run: str, batch: int, moves: Moves, hidden: set[str]) -> Moves:
        """What is to be moved: by an earlier try's decision, where there is one, or by ours."""
        shown = self._shown(run, batch)
        decision = f"{_hidden(run)}/{_decision(batch)}"
        if not moves or any(later > batch for later in shown.values()):
            # In order: the later batches, which tell that the job was put back, go last.
            for name in shown:
                self._folder.remove(name)
        elif _decision(batch) in hidden:
            earlier: Moves = json.loads(self._folder.read(decision))
            return earlier
        elif shown:
            return {}
        if moves:
            self._check_written(moves, hidden)
            self._decide(decision, moves)
        return moves

    def _shown(self, run: str, batch: int) -> dict[str, int]:
        """The files of this batch and of later ones that readers see, in order."""
        if self._done is not None and batch > self._done:
            return {}
        # With any ending: the format may have been changed since.
        part = re.compile(rf"part-{re.escape(run[:8])}-(\d+)-\d+\.")
        found = {name: part.match(name) for name in self._folder.names()}
        batches = {name: int(match[1]) for name, match in found.items() if match}
        return {name: of for name, of in batches.items() if of >= batch}

    def _check_written(self, moves: Moves, hidden: set[str]) -> None:
        missing = moves.keys() - hidden
        if missing:
            raise self._folder.failure(
                f"what a task wrote there is not to be seen from here: {min(missing)}",
                fix="name a folder that all machines of the cluster share, such as 's3a://…'",
            )

    def _decide(self, decision: str, moves: Moves) -> None:
        with self._folder.create(f"{decision}.tmp") as stream:
            stream.write(json.dumps(moves).encode())
        self._folder.move(f"{decision}.tmp", to=decision)


def _hidden(run: str) -> str:
    return f"_millstream/{run}"


def _decision(batch: int) -> str:
    return f"{batch:010}.json"
