"""The batch that a job was about to begin when it stopped: Spark has noted it, nothing more.

Spark retries it when the job is resumed. If the checkpoint says that nothing was done for it, it
need not be retried with the same shards.
"""

from __future__ import annotations

import json
from contextlib import suppress

from millstream.model.errors import MillstreamError
from millstream.sinks.fence import Fence
from millstream.system.folders import Folder

_FILE = "untouched.json"


def note_untouched(folder: str, batch: int, fence: Fence) -> None:
    """Notes that a batch has not begun, as long as the job owns its checkpoint.

    If that fails, the batch counts as one that has begun.
    """
    place = Folder.of("checkpoint", folder, "checkpoint")
    with suppress(MillstreamError, OSError):
        fence.check()
        with place.create(_FILE) as stream:
            stream.write(json.dumps({"batch": batch}).encode())


def forget_untouched(place: Folder) -> None:
    """Removes the note: the job is about to begin that batch."""
    place.remove(_FILE)


def untouched_batch(place: Folder) -> int | None:
    """The batch that has not begun, if one is noted."""
    if _FILE not in place.names():
        return None
    with suppress(ValueError, KeyError, TypeError):
        return int(json.loads(place.read(_FILE))["batch"])
    return None
