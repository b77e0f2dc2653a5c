"""The sink of files: the folder that it writes to, and checks of what is there."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from millstream.model.errors import PlanError, RunError
from millstream.plan.targets import Files
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.files.committer import FilesCommitter
from millstream.sinks.files.names import results_in
from millstream.sinks.files.writer import FilesWriter
from millstream.sinks.protocol import SinkKind
from millstream.sinks.slices import Slice
from millstream.system.folders import Folder


class FilesSink(SinkKind[Files]):
    """Files in a folder, for ``write_files``."""

    @cached_property
    def _folder(self) -> Folder:
        return Folder.of(self.name, self.target.path)

    def check_results(self, anew: bool) -> None:
        """MS212: a run that writes everything ``anew`` would add to the results of an earlier one.

        Any other run writes each row once, and adds to the folder.
        """
        mode = self.target.mode
        if mode == "append":
            return
        if not anew and mode is not None:
            raise PlanError(
                "MS113",
                f"mode={mode!r} is for a run that writes all its rows: one over bounded "
                "sources without a checkpoint",
                fix="leave it out: this run adds to the folder, each row once",
                step=self.name,
            )
        if anew and mode != "overwrite":
            folder = self._folder
            with folder.errors():
                found = results_in(folder.files())
            if found:
                raise self._doubled(found)

    def _doubled(self, found: list[str]) -> RunError:
        count = "a file" if len(found) == 1 else f"{len(found)} files"
        return RunError(
            "MS212",
            f"{self.target.path!r} already has {count} of results, such as {found[0]}, and this "
            "run would add all its rows to them",
            fix="write_files(…, mode='overwrite') replaces them once the run has succeeded, "
            "mode='append' adds to them; with run(…, checkpoint=…) each row is written once, "
            "however often the job is run",
            step=self.name,
        )

    def check_beside(self, others: Iterable[SinkKind[Any]]) -> None:
        """MS113: two sinks in one folder would treat each other's files as their own.

        >>> totals = FilesSink("totals", Files("file:///data/all/", "csv"))
        >>> FilesSink("late", Files("/data/all", "json")).check_beside([totals])
        Traceback (most recent call last):
            ...
        millstream.model.errors.PlanError: MS113 in step 'late': 'totals' writes to '/data/all', too
          What to do: give each its own folder, or write the union of both
          More: millstream help MS113
        """
        for other in others:
            if isinstance(other, FilesSink) and other._folder.place == self._folder.place:
                raise PlanError(
                    "MS113",
                    f"{other.name!r} writes to {self.target.path!r}, too",
                    fix="give each its own folder, or write the union of both",
                    step=self.name,
                )

    def writer(self, slice: Slice) -> FilesWriter:
        """Writes hidden files."""
        return FilesWriter(self._folder, self.target, slice)

    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> FilesCommitter:
        """Makes them visible."""
        return FilesCommitter(self._folder, self.target, fence)
