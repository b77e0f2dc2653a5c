"""Commits files: each row is in exactly one file that readers see, whatever crashes when.

A task writes a ``.tmp`` file. The commit first writes a list of the files of the batch. That is the
decision: a process that retries the batch after a crash moves those files, and removes its own,
which have the same rows. So a file that a reader may have read does not change, even if the rows
are divided into other slices the second time. When all files are moved, the decision is removed
with everything else below ``_millstream``: some readers, such as Polars, read hidden folders, too.

So visible files of a batch without a decision are all files of that batch, and files of a *later*
batch mean that an older checkpoint was restored: the files of later batches are removed.
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
"""The temporary name of each file, and its final name."""


class FilesCommitter:
    """Makes the files of a batch visible; the top of this module has the details.

    The invariant: **an owner of the checkpoint changes only files with its own name in them, and
    files that it has listed before a check of the fence that it passed.** Files that were listed
    then are of an earlier owner, or of later batches than a restored checkpoint has; files of a
    later owner have other names. So a process that was paused and overtaken removes nothing of its
    successor, however long ago its last check was.

    Nor does it make files visible too late. Its files were hidden below its own name, all of them
    before that check. A new owner first removes all hidden files of earlier owners, the oldest
    owner's first, because files move in that direction; only then it reads what was decided and is
    visible. Moving a file that no longer exists fails.
    """

    def __init__(self, folder: Folder, target: Files, fence: Fence = NO_FENCE) -> None:
        self._folder = folder
        self._ending = settings_of(target).ending
        self._replaces = target.mode == "overwrite"
        self._fence = fence
        # The latest batch that this committer has committed: later ones have no files yet.
        self._done: int | None = None

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Afterwards the files of the batch are visible, and no other file of it."""
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
            # Only now: a run that fails does not change the earlier results.
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
        """Removes hidden files of earlier owners; returns where their decisions are, oldest first.

        After this, none of them can make a file visible any more.
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
                    with suppress(FileNotFoundError):  # it has become visible meanwhile
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
        """The files to move: by the decision of an earlier attempt, if there is one, or by ours."""
        shown = self._shown(run, batch)
        if not moves or any(later > batch for later in shown.values()):
            if shown:
                self._fence.check()  # so nothing that was listed is of a successor
            # In order: later batches, which show that an older checkpoint was restored, are last.
            for name in shown:
                self._folder.remove(name)
        else:
            for place in (hidden_folder(run, self._fence.owner), *reversed(others)):
                if decision_name(batch) in self._folder.names(place):
                    decision = self._folder.read(f"{place}/{decision_name(batch)}")
                    earlier: Moves = json.loads(decision)
                    # A decision without effect, because its files were removed, does not count.
                    if all(name in hidden or to in shown for name, to in earlier.items()):
                        return earlier
            if shown:
                return {}
        self._decide(run, batch, moves, hidden)
        return moves

    def _shown(self, run: str, batch: int) -> dict[str, int]:
        """The files of this batch and of later ones that readers see, in order."""
        # With any ending: the format may have changed.
        part = re.compile(rf"part-{re.escape(run[:8])}-(\d+)-\d+[-.]")
        found = [(part.match(n.rpartition("/")[2]), n) for n in results_in(self._folder.files())]
        batches = sorted((int(match[1]), name) for match, name in found if match)
        return {name: of for of, name in batches if of >= batch}

    def _decide(self, run: str, batch: int, moves: Moves, hidden: set[str]) -> None:
        """Writes the list of files to move, if there are any."""
        if not moves:
            return
        missing = moves.keys() - hidden
        if missing:
            raise self._folder.failure(
                f"a file that a task wrote is not visible to the driver: {min(missing)}",
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
