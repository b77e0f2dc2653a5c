"""How far the shards of a job have come, as each last reported it.

A shard that nothing has come for stays where it was. The checkpoint has a copy that is at most some
seconds old, so that a job that is resumed, and has nothing to do yet, can show it.
"""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Row

from millstream.reports.progress import Split, moment
from millstream.system.folders import Folder

_FILE = "progress.json"
_EVERY = 10.0  # seconds between two copies
_log = logging.getLogger(__name__)


@dataclass
class ShardProgress:
    """The watermark and the state of each shard, by grouping, and the splits that they know of."""

    values: dict[tuple[str, str], dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    channels: dict[str, list[list[Any]]] = field(default_factory=dict)
    _kept: float = 0.0
    _changed: bool = False

    def take(self, row: Row) -> None:
        """What a shard has reported in a batch."""
        if row.kind == "splits":
            self.channels[row.node] = json.loads(row.payload)
        else:
            self.values[row.split, row.node][row.shard] = row.value
        self._changed = True

    def of(self, what: str) -> list[int]:
        """What each shard of each grouping last reported."""
        return [value for _, shards in self.by_operator(what) for value in shards.values()]

    def by_operator(self, what: str) -> list[tuple[str, dict[int, int]]]:
        """What each shard last reported, by operator."""
        return [(n, v) for (each, n), v in self.values.items() if each == what and v]

    def state(self) -> dict[str, tuple[int, int]]:
        """The rows and bytes of the state of each operator."""
        sizes = dict(self.by_operator("state_bytes"))
        return {
            name: (sum(rows.values()), sum(sizes.get(name, {}).values()))
            for name, rows in self.by_operator("state_rows")
        }

    def splits(self) -> tuple[Split, ...]:
        """The splits of all sources, those that are farthest behind first."""
        found = {tuple(each[:2]): each for known in self.channels.values() for each in known}
        ordered = sorted(found.values(), key=lambda each: (each[2], each[0], each[1]))
        return tuple(
            Split(origin.split("/")[0], split, moment(watermark), idle)
            for origin, split, watermark, idle in ordered
        )

    def keep(self, folder: str, at_once: bool = False) -> None:
        """Writes a copy into the checkpoint, if there is news and it is time for one."""
        now = time.monotonic()
        if not self._changed or (now - self._kept < _EVERY and not at_once):
            return
        self._kept, self._changed = now, False
        # Copies, since another thread takes what batches report meanwhile.
        values: list[list[object]] = [
            [*key, dict(shards)] for key, shards in list(self.values.items())
        ]
        text = json.dumps({"values": values, "splits": dict(self.channels)})
        place = Folder.of("checkpoint", folder, "checkpoint")
        with place.create(f"{_FILE}.tmp") as stream:
            stream.write(text.encode())
        place.move(f"{_FILE}.tmp", to=_FILE)

    @classmethod
    def kept_in(cls, folder: str, groupings: Iterable[str]) -> ShardProgress:
        """The copy in a checkpoint: of these groupings, and empty if there is none to be read."""
        found = cls()
        place = Folder.of("checkpoint", folder, "checkpoint")
        known = set(groupings)
        try:
            if _FILE in place.names():
                kept = json.loads(place.read(_FILE))
                for what, node, shards in kept["values"]:
                    if node in known:
                        found.values[what, node] = {int(n): v for n, v in shards.items()}
                found.channels = {n: each for n, each in kept["splits"].items() if n in known}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("what %s/%s says of the last run is not shown: %s", folder, _FILE, error)
        return found
