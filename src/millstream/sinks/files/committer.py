"""Commits files: each row is in exactly one file that readers see, whatever crashes when.

A task writes a ``.tmp`` file. The commit first writes down which of them make up the batch. That
is the decision: whoever retries the batch after a crash moves those files, and removes its own,
which hold the same rows. So a file that a reader may have read stays as it is, even if the rows are
divided into other slices the second time. When all files are moved, the decision is removed with
everything else below ``_millstream``: some readers, such as Polars, read hidden folders, too.

So visible files of a batch without a decision are all files of that batch, and files of a *later*
batch mean that the job was put back to an older checkpoint: what came after it is undone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress

from millstream.plan.targets import Files
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.files.formats import settings_of
from millstream.sinks.files.names import decision_name, hidden_folder, is_decision, results_in
from millstream.system.folders import Folder

Moves = dict[str, str]
"""What a file is called while it is written, and its name in the end."""


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
        mine = hidden_folder(run, self._fence.owner)
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
                hidden.add(decision_name(batch))
            for name in sorted(hidden - moves.keys()):
                self._folder.remove(f"{mine}/{name}")
            for other in others:
                self._forget(other)
        self._done = batch

    def _inherited(self, run: str) -> list[str]:
        """Takes away what earlier owners have hidden; where their decisions are, the oldest first.

        Once this is done, none of them can show a file any more.
        """
        mine = hidden_folder(run, self._fence.owner)
        owners = ("", *self._folder.folders(hidden_folder(run)))
        others = [hidden_folder(run, each) for each in owners]
        others = [each for each in others if each != mine]
        self._fence.check()
        for other in others:
            names = self._folder.names(other)
            if names:
                self._folder.make(mine)
            for name in names:
                if not is_decision(name):
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
            for place in (hidden_folder(run, self._fence.owner), *reversed(others)):
                if decision_name(batch) in self._folder.names(place):
                    decision = self._folder.read(f"{place}/{decision_name(batch)}")
                    earlier: Moves = json.loads(decision)
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
        decision = f"{hidden_folder(run, self._fence.owner)}/{decision_name(batch)}"
        with self._folder.create(f"{decision}.tmp") as stream:
            stream.write(json.dumps(moves).encode())
        self._folder.move(f"{decision}.tmp", to=decision)

    def _forget(self, other: str) -> None:
        """Removes what is left of an earlier owner: its decisions, and the folder."""
        for name in self._folder.names(other):
            self._folder.remove(f"{other}/{name}")
        if "/" in other.removeprefix("_millstream/"):
            self._folder.remove_folder(other)
