"""How far event time has come for a grouping: the least of its inputs, less those that are idle.

Each input is a channel: a split of a source, or a shard of a grouping before this one. Watermarks
come with the data, and every shard hears of every channel, so all of them agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.model.instants import END_OF_TIME, START_OF_TIME


@dataclass(slots=True)
class Channel:
    """What is known of an input: its watermark, and when it was last heard of."""

    watermark: int
    heard: int


@dataclass(slots=True)
class Watermarks:
    """The channels of a grouping, by origin and split.

    ``idles`` has an entry for each origin: after how long a silent channel of it steps aside, None
    if it never does. An origin that no channel has been heard of counts as one with all to come.
    """

    idles: Mapping[str, int | None]
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
        counts.
        """
        if self.began is None:
            self.began = now
        everyone = self._everyone()
        going_on = [(c, idle) for c, idle in everyone if c.watermark < END_OF_TIME]
        awake = [c.watermark for c, idle in going_on if not _is_idle(c, idle, now)]
        if awake:
            told = min((w for w in awake if w >= self.watermark), default=self.watermark)
        elif going_on:
            told = max(c.watermark for c, _ in going_on)
        else:
            told = END_OF_TIME if everyone else START_OF_TIME
        self.watermark = max(self.watermark, told)
        return self.watermark

    def next_idle(self, now: int) -> int | None:
        """When the next channel will be idle, if all stay silent."""
        moments = [
            c.heard + idle
            for c, idle in self._everyone()
            if idle is not None and c.watermark < END_OF_TIME and not _is_idle(c, idle, now)
        ]
        return min(moments, default=None)

    def _everyone(self) -> list[tuple[Channel, int | None]]:
        unheard = Channel(START_OF_TIME, self.began or 0)
        return [
            (channel, idle)
            for origin, idle in self.idles.items()
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
    def from_json(cls, idles: Mapping[str, int | None], told: dict[str, Any]) -> Watermarks:
        """What ``to_json`` gave."""
        channels = {
            origin: {split: Channel(*each) for split, each in splits.items()}
            for origin, splits in told.get("channels", {}).items()
            if origin in idles
        }
        began = told.get("began")
        return cls(idles, channels, told.get("watermark", START_OF_TIME), began)


def _is_idle(channel: Channel, idle: int | None, now: int) -> bool:
    return idle is not None and now - channel.heard >= idle
