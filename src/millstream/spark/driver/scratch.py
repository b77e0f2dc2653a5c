"""Folders for as long as a program runs: only its user can read them, and none stays for ever.

A program that is killed cannot remove its own. So each says which process it is of, and whoever
makes one removes those of processes that are gone.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from millstream.system.processes import Process, machine

_PREFIX = "millstream-"
_PROCESS = "process.json"


def scratch_folder(parent: str | None = None) -> str:
    """A new folder for this process; below ``parent``, or where the system keeps such folders."""
    place = parent or tempfile.gettempdir()
    _remove_left(Path(place))
    folder = tempfile.mkdtemp(prefix=_PREFIX, dir=place)  # which no other user can read
    process = Process.own()
    about = {"machine": machine(), "pid": process.pid, "started": process.started}
    Path(folder, _PROCESS).write_text(json.dumps(about), encoding="utf-8")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _remove_left(place: Path) -> None:
    """Removes what processes of this user have left behind that are known to be gone."""
    for note in place.glob(f"{_PREFIX}*/{_PROCESS}"):
        with suppress(OSError, ValueError, KeyError):  # another process may be faster
            about = json.loads(note.read_text(encoding="utf-8"))
            is_known = note.stat().st_uid == os.getuid() and about["machine"] == machine()
            if is_known and not Process(about["pid"], about["started"]).runs:
                shutil.rmtree(note.parent, ignore_errors=True)
