"""The log of a whole result table in the checkpoint, from which a sink can be resumed.

    tables/<sink>/0000000012.arrow          the rows of a batch, in Arrow's IPC format, or nothing
    tables/<sink>/0000000099-whole.arrow    the whole table after a batch

There is a file for each batch, written before Spark commits it. A retried batch has the same rows,
which change nothing if they are already in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pyarrow as pa

from millstream.model.errors import RunError
from millstream.system.folders import Folder

_EVERY = 100  # batches after which the whole table is written and the files before it are removed
_WHOLE = "-whole.arrow"


class TableLog:
    """The log of one sink. Only the driver reads and writes it, once it owns the checkpoint."""

    def __init__(self, job: str, sink: str, checkpoint: str) -> None:
        self._job = job
        self._sink = sink
        self._place = Folder.of(job, f"{checkpoint}/tables/{quote(sink, safe='')}", "checkpoint")
        self._commits = Folder.of(job, f"{checkpoint}/spark/commits", "checkpoint")

    def read(self) -> Iterator[pa.Table]:
        """The content of the table, from the oldest; MS224 if a batch is missing."""
        with self._place.errors():
            self._place.make("")
            names = self._place.names()
            wholes = [name for name in names if name.endswith(_WHOLE)]
            first = _number(wholes[-1]) if wholes else -1
            batches = [n for n in names if n[:10].isdecimal() and n[10:] == ".arrow"]
            later = [name for name in batches if _number(name) > first]
            self._check_complete(first, [_number(name) for name in later])
            for name in [*wholes[-1:], *later]:
                if content := self._place.read(name):
                    with pa.ipc.open_stream(content) as stream:
                        yield stream.read_all()

    def write(self, batch: int, rows: pa.Table | None, whole: pa.Table | None) -> None:
        """Adds the rows of a batch; sometimes the whole table replaces the earlier files."""
        with self._place.errors():
            self._put(f"{batch:010}.arrow", rows)
            if batch % _EVERY == _EVERY - 1:
                self._put(f"{batch:010}{_WHOLE}", whole)
                for name in self._place.names():
                    if name[:10].isdecimal() and _number(name) < batch:
                        self._place.remove(name)

    def _put(self, name: str, rows: pa.Table | None) -> None:
        """Under a temporary name first: a process that is killed leaves no incomplete file."""
        with self._place.create("new.tmp") as stream:
            if rows is not None:
                with pa.ipc.new_stream(stream, rows.schema) as arrow:
                    arrow.write_table(rows)
        self._place.move("new.tmp", to=name)

    def _check_complete(self, whole: int, later: list[int]) -> None:
        """Checks that each batch that Spark has committed is there, and at most one more."""
        last = later[-1] if later else whole
        commits = [int(name) for name in self._commits.names() if name.isdecimal()]
        committed = max(commits, default=-1)
        if later == list(range(whole + 1, last + 1)) and committed <= last <= committed + 1:
            return
        raise RunError(
            "MS224",
            f"the checkpoint of job {self._job!r} has {committed + 1} batches, but not the results "
            "of all of them, so the table cannot be complete: the sink is new, or was left out",
            fix="leave mode='complete' out, or give the job another name or checkpoint",
            step=self._sink,
        )


def _number(name: str) -> int:
    return int(name[:10])
