"""The sink of files: each row is in exactly one file that readers see, whatever crashes when.

    part-<run>-<batch>-<slice>-<token>.<ending>    what readers see, or <column>=<value>/…/part-…
    _millstream/<run>/<owner>/*.tmp                what tasks write
    _millstream/<run>/<owner>/<batch>.json         which of that is to be seen, and by what name

The owner is the process that owns the job's checkpoint, with its token (see ``fence.py``); without
a checkpoint there is none.

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
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.formats import Encoder, Settings, encoder_of, settings_of
from millstream.sinks.partitions import by_folder, results_in
from millstream.sinks.slices import Slice
from millstream.system.folders import Folder

Moves = dict[str, str]
"""What a file is called while it is written, and what in the end."""

# A row group is written when so many rows wait for it, or so many bytes: large enough to be read
# fast, small enough that a task holds little more than one.
_GROUP_ROWS = 128 * 1024
_GROUP_BYTES = 64 * 1024 * 1024
_MOST_OPEN = 64


class FilesWriter:
    """Writes a slice to hidden files, one for each folder that has rows of it.

    It holds little more rows than those of a group, whatever folders they are for. Of many folders,
    it ends the file that it has not written to for longest: more rows go to a further one.
    """

    def __init__(self, folder: Folder, target: Files, slice: Slice) -> None:
        self._folder = folder
        self._settings = settings_of(target)
        self._columns = target.partition_by
        self._slice = slice
        self._hidden = _hidden(slice.run, slice.owner)
        self._waiting: dict[str, list[pa.Table]] = {}
        self._rows = self._bytes = 0
        self._open: dict[str, _File] = {}
        self._written: dict[str, str] = {}

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows until they fill a group."""
        if not rows.num_rows:
            return
        for folder, part in by_folder(rows, self._columns):
            self._waiting.setdefault(folder, []).append(part)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write_groups()

    def close(self) -> bytes:
        """Ends the files; a slice without rows has none."""
        self._write_groups()
        with self._folder.errors():
            for file in self._open.values():
                file.close()
        if not self._written:
            return b""
        return json.dumps({"slice": self._slice.number, "files": self._written}).encode()

    def abort(self) -> None:
        """Removes the files; what fails here has failed before, and been reported."""
        self._waiting.clear()
        for file in self._open.values():
            file.abort()
        for name in self._written:
            with suppress(OSError):
                self._folder.remove(f"{self._hidden}/{name}")

    def _write_groups(self) -> None:
        self._rows = self._bytes = 0
        waiting, self._waiting = self._waiting, {}
        with self._folder.errors():
            for folder, tables in waiting.items():
                rows = pa.concat_tables(tables)
                groups = max(1, rows.num_rows // _GROUP_ROWS)
                size = -(-rows.num_rows // groups)
                file = self._file(folder)
                for start in range(0, rows.num_rows, size):
                    file.write(rows.slice(start, size))

    def _file(self, folder: str) -> _File:
        file = self._open.pop(folder, None)
        if file is None:
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            # Numbers of attempts begin anew with each start of Spark, while a decision may still
            # speak of a file of the last: so names are unique without them.
            of = self._slice
            name = f"{of.batch:010}-{of.number:05}-{of.attempt}-{token_hex(4)}.tmp"
            self._folder.make(self._hidden)
            self._written[name] = folder
            file = _File(self._folder, f"{self._hidden}/{name}", self._settings)
        self._open[folder] = file  # at the end, for it is written now
        return file


class _File:
    """A file that is written."""

    def __init__(self, folder: Folder, name: str, settings: Settings) -> None:
        self._stream = folder.create(name, settings.stream_compression)
        self._encoder: Encoder = encoder_of(settings, self._stream)

    def write(self, rows: pa.Table) -> None:
        self._encoder.write(rows)

    def close(self) -> None:
        self._encoder.close()
        self._stream.close()

    def abort(self) -> None:
        for each in (self._encoder, self._stream):
            with suppress(OSError, ValueError):  # ValueError: of a stream that is closed
                each.close()


class FilesCommitter:
    """Makes the files of a batch visible; see the top of this module for what holds at any time.

    The invariant: **an owner of the checkpoint touches only what has its own name in it, and what
    it has listed before a check of the fence that it passed.** What was listed then is of an
    earlier owner, or of a future that was given up when an older checkpoint was put back; what a
    later owner writes has other names. So a process that stood still and was overtaken removes
    nothing of its successor, however long ago its last check was.

    It shows nothing late either. Its files were hidden below its own name, all of them before that
    check. A new owner first takes away all hidden files of earlier ones, the oldest owner's first
    because that is the way in which files move; only then it looks what was decided and shown.
    A move of a file that is no longer there fails.
    """

    def __init__(self, folder: Folder, target: Files, fence: Fence = NO_FENCE) -> None:
        self._folder = folder
        self._ending = settings_of(target).ending
        self._replaces = target.mode == "overwrite"
        self._fence = fence
        # The latest batch that this committer has done: what is later has no files yet.
        self._done: int | None = None

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Ends with the files of the batch, and nothing else of it."""
        follows = self._done is not None and batch > self._done
        self._done = None
        mine = _hidden(run, self._fence.owner)
        with self._folder.errors():
            earlier = results_in(self._folder.files()) if self._replaces else []
            others = [] if follows else self._inherited(run)
            hidden = set(self._folder.names(mine))
            moves = self._moves(run, batch, receipts)
            if follows:
                self._decide(run, batch, moves, hidden)
            else:
                moves = self._decided(run, batch, moves, hidden, others)
            for below in sorted({to.rpartition("/")[0] for to in moves.values()} - {""}):
                self._folder.make(below)
            for name in sorted(moves.keys() & hidden):  # the others were moved before a crash
                self._folder.move(f"{mine}/{name}", to=moves[name])
            # Only now: a run that fails leaves the earlier results as they are.
            for name in earlier:
                self._folder.remove(name)
            for below in {name.rpartition("/")[0] for name in earlier} - {""}:
                self._folder.remove_empty(below)
            if moves:
                hidden.add(_decision(batch))
            for name in sorted(hidden - moves.keys()):
                self._folder.remove(f"{mine}/{name}")
            for other in others:
                self._forget(other)
        self._done = batch

    def _inherited(self, run: str) -> list[str]:
        """Takes away what earlier owners have hidden; where their decisions are, the oldest first.

        Once this is done, none of them can show a file any more.
        """
        mine = _hidden(run, self._fence.owner)
        others = [_hidden(run, each) for each in ("", *self._folder.folders(_hidden(run)))]
        others = [each for each in others if each != mine]
        self._fence.check()
        for other in others:
            names = self._folder.names(other)
            if names:
                self._folder.make(mine)
            for name in names:
                if not _is_decision(name):
                    with suppress(FileNotFoundError):  # it has been shown meanwhile
                        self._folder.move(f"{other}/{name}", to=f"{mine}/{name}")
        return others

    def _moves(self, run: str, batch: int, receipts: Sequence[bytes]) -> Moves:
        by = f"-{self._fence.token}" if self._fence.token else ""
        moves = {}
        for each in map(json.loads, filter(None, receipts)):
            part = f"part-{run[:8]}-{batch:010}-{each['slice']:05}{by}"
            for n, (name, folder) in enumerate(each["files"].items()):
                number = f"-{n}" if n else ""
                moves[name] = f"{folder}/{part}{number}.{self._ending}".removeprefix("/")
        return moves

    def _decided(
        self, run: str, batch: int, moves: Moves, hidden: set[str], others: list[str]
    ) -> Moves:
        """What is to be moved: by an earlier try's decision, where there is one, or by ours."""
        shown = self._shown(run, batch)
        if not moves or any(later > batch for later in shown.values()):
            if shown:
                self._fence.check()  # nothing that was listed is of a successor
            # In order: the later batches, which tell that the job was put back, go last.
            for name in shown:
                self._folder.remove(name)
        else:
            for place in (_hidden(run, self._fence.owner), *reversed(others)):
                if _decision(batch) in self._folder.names(place):
                    earlier: Moves = json.loads(self._folder.read(f"{place}/{_decision(batch)}"))
                    # A decision that nothing came of, because its files were taken away, is none.
                    if all(name in hidden or to in shown for name, to in earlier.items()):
                        return earlier
            if shown:
                return {}
        self._decide(run, batch, moves, hidden)
        return moves

    def _shown(self, run: str, batch: int) -> dict[str, int]:
        """The files of this batch and of later ones that readers see, in order."""
        # With any ending: the format may have been changed since.
        part = re.compile(rf"part-{re.escape(run[:8])}-(\d+)-\d+[-.]")
        found = [(part.match(n.rpartition("/")[2]), n) for n in results_in(self._folder.files())]
        batches = sorted((int(match[1]), name) for match, name in found if match)
        return {name: of for of, name in batches if of >= batch}

    def _decide(self, run: str, batch: int, moves: Moves, hidden: set[str]) -> None:
        """Writes down what is to be moved, if it is anything."""
        if not moves:
            return
        missing = moves.keys() - hidden
        if missing:
            raise self._folder.failure(
                f"what a task wrote there is not to be seen from here: {min(missing)}",
                fix="name a folder that all machines of the cluster share, such as 's3a://…'",
            )
        decision = f"{_hidden(run, self._fence.owner)}/{_decision(batch)}"
        with self._folder.create(f"{decision}.tmp") as stream:
            stream.write(json.dumps(moves).encode())
        self._folder.move(f"{decision}.tmp", to=decision)

    def _forget(self, other: str) -> None:
        """Removes what is left of an earlier owner: its decisions, and the folder."""
        for name in self._folder.names(other):
            self._folder.remove(f"{other}/{name}")
        if "/" in other.removeprefix("_millstream/"):
            self._folder.remove_folder(other)


def _hidden(run: str, owner: str = "") -> str:
    """Where an owner's tasks write; a job without a checkpoint has no owner."""
    return f"_millstream/{run}/{owner}".rstrip("/")


def _decision(batch: int) -> str:
    return f"{batch:010}.json"


def _is_decision(name: str) -> bool:
    return name.endswith(".json")
