"""How far event time has come for an operator: the least of its inputs, less those that are idle.

Each input is a channel: a split of a source, or a shard of an operator before this one. Watermarks
travel with the data, and every shard gets those of every channel, so all of them agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import polars as pl

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Silence

POLL = 1_000_000
"""How often the watermark is moved while it follows the clock, in microseconds."""


class Channel(msgspec.Struct, array_like=True):
    """What is known of an input: its watermark, and when it last reported one."""

    watermark: int
    reported: int


class Channels(msgspec.Struct):
    """The channels of an operator by origin and split, and the watermark that they add up to.

    ``began`` is the clock when the shard first ran.
    """

    watermark: int = START_OF_TIME
    began: int | None = None
    splits: dict[str, dict[str, Channel]] = {}


class Watermarks:
    """Moves the watermark of an operator by what its channels report.

    ``origins`` says of each what the silence of its channels means. An origin of which no channel
    has reported counts as one with everything still to come.
    """

    def __init__(self, origins: Mapping[str, Silence], channels: Channels | None = None) -> None:
        self.origins = origins
        self.channels = Channels() if channels is None else channels
        for origin in self.channels.splits.keys() - origins.keys():
            del self.channels.splits[origin]

    def report(self, origin: str, split: str, watermark: int, now: int) -> None:
        """A channel reports its watermark."""
        splits = self.channels.splits.setdefault(origin, {})
        known = splits.setdefault(split, Channel(watermark, now))
        known.watermark = max(known.watermark, watermark)
        known.reported = now

    def expect(self, origin: str, splits: Iterable[str], now: int) -> None:
        """Channels that are there, whether or not they have reported anything yet."""
        known = self.channels.splits.setdefault(origin, {})
        for split in splits:
            known.setdefault(split, Channel(START_OF_TIME, now))

    def advance(self, now: int) -> int:
        """The watermark, which never goes back.

        A channel that was idle, or is new, counts again once it has caught up. One that has ended
        does not count. When all others are idle, the newest watermark of any of them counts; and
        the clock does, at the greatest distance that one of their origins asks for.
        """
        channels = self.channels
        if channels.began is None:
            channels.began = now
        everyone = self._everyone()
        active = [(c, silence) for c, silence in everyone if c.watermark < END_OF_TIME]
        awake = [c.watermark for c, silence in active if not _is_idle(c, silence, now)]
        if awake:
            ahead = (w for w in awake if w >= channels.watermark)
            moved = min(ahead, default=channels.watermark)
        elif active:
            moved = max(c.watermark for c, _ in active)
            behind = [silence.behind for _, silence in active if silence.behind is not None]
            moved = max(moved, now - max(behind)) if behind else moved
        else:
            moved = END_OF_TIME if everyone else START_OF_TIME
        channels.watermark = max(channels.watermark, moved)
        return channels.watermark

    def slowest(self, origins: Iterable[str], most: int, now: int) -> list[list[Any]]:
        """The splits that are farthest behind: origin, split, watermark, and whether it is idle."""
        known = [
            [origin, split, channel.watermark, _is_idle(channel, self.origins[origin], now)]
            for origin in origins
            for split, channel in self.channels.splits.get(origin, {}).items()
        ]
        return sorted(known, key=lambda each: (each[2], each[0], each[1]))[:most]

    def put_back(self, limit: int) -> None:
        """Takes back whatever is after ``limit``, but for inputs that have ended."""
        for splits in self.channels.splits.values():
            for channel in splits.values():
                channel.watermark = limited(channel.watermark, limit)
        self.channels.watermark = limited(self.channels.watermark, limit)

    def next_move(self, now: int) -> int | None:
        """When the watermark may move next by the clock alone, if all stay silent."""
        active = [(c, each) for c, each in self._everyone() if c.watermark < END_OF_TIME]
        moments = [
            c.reported + each.idle
            for c, each in active
            if each.idle is not None and not _is_idle(c, each, now)
        ]
        all_idle = all(_is_idle(c, each, now) for c, each in active)
        if all_idle and any(each.behind is not None for _, each in active):
            return now + POLL
        return min(moments, default=None)

    def _everyone(self) -> list[tuple[Channel, Silence]]:
        unknown = Channel(START_OF_TIME, self.channels.began or 0)
        return [
            (channel, silence)
            for origin, silence in self.origins.items()
            for channel in self.channels.splits.get(origin, {"": unknown}).values()
        ]


def limited(watermark: int, limit: int) -> int:
    """A watermark that is put back, unless it is at the end of time."""
    return watermark if watermark == END_OF_TIME else min(watermark, limit)


def _is_idle(channel: Channel, silence: Silence, now: int) -> bool:
    return silence.idle is not None and now - channel.reported >= silence.idle


def newest(times: pl.Series, latest: int) -> tuple[int | None, int]:
    """The newest time that is not after ``latest``, if there is one; how many are after it."""
    found: Any = times.max()
    if found is None or found <= latest:
        return found, 0
    good = times.filter(times <= latest)
    found = good.max()
    return found, len(times) - times.null_count() - len(good)
