"""How far event time has come for a grouping: the least of its inputs, less those that are idle.

Each input is a channel: a split of a source, or a shard of a grouping before this one. Watermarks
come with the data, and every shard hears of every channel, so all of them agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Silence

POLL = 1_000_000
"""How often the watermark is moved while it follows the clock, in microseconds."""


@dataclass(slots=True)
class Channel:
    """What is known of an input: its watermark, and when it was last heard of."""

    watermark: int
    heard: int


@dataclass(slots=True)
class Watermarks:
    """The channels of a grouping, by origin and split.

    ``origins`` says of each what the silence of its channels means. An origin that no channel has
    been heard of counts as one with all to come.
    """

    origins: Mapping[str, Silence]
    channels: dict[str, dict[str, Channel]] = field(default_factory=dict)
    watermark: int = START_OF_TIME
    began: int | None = None

    def hear(self, origin: str, split: str, watermark: int, now: int) -> None:
        """A channel tells its watermark."""
        known = self.channels.setdefault(origin, {}).setdefault(split, Channel(watermark, now))
        known.watermark = max(known.watermark, watermark)
        known.heard = now

    def expect(self, origin: str, splits: Iterable[str], now: int) -> None:
        """Channels that are there, whether or not they have told anything yet."""
        known = self.channels.setdefault(origin, {})
        for split in splits:
            known.setdefault(split, Channel(START_OF_TIME, now))

    def advance(self, now: int) -> int:
        """The watermark, which never goes back.

        A channel that was idle, or is new, counts again once it has caught up. One that has ended
        says nothing about the others. When all others are idle, all that any of them has told
        counts; and the clock does, at the greatest distance that one of their origins asks for.
        """
        if self.began is None:
            self.began = now
        everyone = self._everyone()
        going_on = [(c, origin) for c, origin in everyone if c.watermark < END_OF_TIME]
        awake = [c.watermark for c, origin in going_on if not _is_idle(c, origin, now)]
        if awake:
            told = min((w for w in awake if w >= self.watermark), default=self.watermark)
        elif going_on:
            told = max(c.watermark for c, _ in going_on)
            behind = [each.behind for _, each in going_on if each.behind is not None]
            told = max(told, now - max(behind)) if behind else told
        else:
            told = END_OF_TIME if everyone else START_OF_TIME
        self.watermark = max(self.watermark, told)
        return self.watermark

    def slowest(self, origins: Iterable[str], most: int, now: int) -> list[list[Any]]:
        """The splits that are farthest behind: origin, split, watermark, and whether it is idle."""
        known = [
            [origin, split, channel.watermark, _is_idle(channel, self.origins[origin], now)]
            for origin in origins
            for split, channel in self.channels.get(origin, {}).items()
        ]
        return sorted(known, key=lambda each: (each[2], each[0], each[1]))[:most]

    def put_back(self, limit: int) -> None:
        """Takes back whatever is after ``limit``, but for inputs that have ended."""
        for splits in self.channels.values():
            for channel in splits.values():
                channel.watermark = limited(channel.watermark, limit)
        self.watermark = limited(self.watermark, limit)

    def next_move(self, now: int) -> int | None:
        """When the watermark may move next by the clock alone, if all stay silent."""
        going_on = [(c, each) for c, each in self._everyone() if c.watermark < END_OF_TIME]
        moments = [
            c.heard + each.idle
            for c, each in going_on
            if each.idle is not None and not _is_idle(c, each, now)
        ]
        all_idle = all(_is_idle(c, each, now) for c, each in going_on)
        if all_idle and any(each.behind is not None for _, each in going_on):
            return now + POLL
        return min(moments, default=None)

    def _everyone(self) -> list[tuple[Channel, Silence]]:
        unheard = Channel(START_OF_TIME, self.began or 0)
        return [
            (channel, silence)
            for origin, silence in self.origins.items()
            for channel in self.channels.get(origin, {"": unheard}).values()
        ]

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        channels = {
            origin: {split: [c.watermark, c.heard] for split, c in splits.items()}
            for origin, splits in self.channels.items()
        }
        return {"watermark": self.watermark, "began": self.began, "channels": channels}

    @classmethod
    def from_json(cls, origins: Mapping[str, Silence], told: dict[str, Any]) -> Watermarks:
        """What ``to_json`` gave."""
        channels = {
            origin: {split: Channel(*each) for split, each in splits.items()}
            for origin, splits in told.get("channels", {}).items()
            if origin in origins
        }
        began = told.get("began")
        return cls(origins, channels, told.get("watermark", START_OF_TIME), began)


def limited(watermark: int, limit: int) -> int:
    """A watermark that is put back, unless it is at the end of time."""
    return watermark if watermark == END_OF_TIME else min(watermark, limit)


def _is_idle(channel: Channel, silence: Silence, now: int) -> bool:
    return silence.idle is not None and now - channel.heard >= silence.idle


def newest(times: pl.Series, latest: int) -> tuple[int | None, int]:
    """The newest time that is not after ``latest``, if there is one; how many are after it."""
    found: Any = times.max()
    if found is None or found <= latest:
        return found, 0
    good = times.filter(times <= latest)
    found = good.max()
    return found, len(times) - times.null_count() - len(good)
