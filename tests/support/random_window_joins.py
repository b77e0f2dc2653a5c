"""Random joins and cogroups in windows, with random scripts of what happens to their sources."""

from __future__ import annotations

from random import Random
from typing import Any

import millstream as ms
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.model.windows import Global
from millstream.stream import Stream
from millstream.testing import test_stream

HOW = ("inner", "left", "right", "full", "semi", "anti")
KEYS = ("a", "b", "c", None)
SCHEMA = "k string, v int, at double"


class RandomJoins:
    """A program and its steps, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        # Programs that share a query have sources of their own.
        self.sources = [f"left {seed}", f"right {seed}"]
        self._third = f"third {seed}"

    def windowing(self, stream: Stream) -> Stream:
        """The stream with the windows, trigger and refinement of this program."""
        pick = self.random.choice
        size = self.random.randint(2, 15)
        window = pick(
            [
                ms.fixed(size),
                ms.sliding(size, self.random.randint(1, 8)),
                ms.session(size),
                ms.global_window(),
                ms.processing_time(ms.fixed(size)),
                ms.count_window(3),
            ]
        )
        by_watermark = window.by_watermark
        lateness = pick([0, 0, 5, 20]) if by_watermark else 0
        stream = stream.window(window, lateness, timestamp=pick(["end", "end", "earliest"]))
        count = ms.repeatedly(ms.after_count(self.random.randint(1, 4)))
        delay = ms.repeatedly(ms.after_delay(self.random.randint(1, 6)))
        triggers = [None, None, count, delay]
        if by_watermark:
            triggers += [ms.at_watermark(early=count, late=count), ms.at_watermark(late=count)]
        trigger = pick(triggers)
        once = trigger is None and not lateness
        if isinstance(window, Global):
            trigger, once = pick([count, delay]), False
        stream = stream if trigger is None else stream.trigger(trigger)
        how = [ms.accumulating, ms.retracting, *([ms.discarding] if once else [])]
        return stream.refine(pick(how))

    def side(self, name: str, retracts: bool) -> Stream:
        """A source, or a grouping that takes results back."""
        stream = test_stream(SCHEMA, event_time="at", name=name)
        if not retracts:
            return stream
        windowed = stream.key_by("k").window(ms.fixed(4), allowed_lateness=30)
        triggered = windowed.trigger(ms.repeatedly(ms.after_count(1))).refine(ms.retracting)
        return triggered.aggregate(v=ms.max("v"), n=ms.count())

    def program(self, shape: str = "any") -> Stream:
        """A join, a cogroup of two or three streams, or one of them after or before a grouping."""
        pick = self.random.choice
        shape = pick(["join", "join", "cogroup", "retracting"]) if shape == "any" else shape
        left, right = (self.side(name, False) for name in self.sources)
        if shape == "retracting":
            left = self.side(self.sources[0], True)
            right = self.side(self.sources[1], pick([True, False]))
            left = left.window(ms.fixed(8), allowed_lateness=30)
            left = left.refine(pick([ms.accumulating, ms.retracting]))
            return self.joined(left, right.window(ms.fixed(8), allowed_lateness=30))
        left = self.windowing(left)
        settings = left.settings.windowing
        right = right.window(settings.window)
        if shape == "cogroup":
            streams = {"one": left.key_by("k"), "two": right.key_by(pick(["k", "lower(k) AS k"]))}
            if pick([True, False]):
                self.sources.append(self._third)
                third = self.side(self._third, False).window(settings.window)
                streams["three"] = third.key_by("k")
            return ms.cogroup(**streams)
        return self.joined(left, right)

    def joined(self, left: Stream, right: Stream) -> Stream:
        pick = self.random.choice
        on = pick(["k", ("k", "k"), ["k"], ("upper(k) AS k", "upper(k)")])
        where = pick([None, None, "v < v_right", "v + v_right > 6 OR v IS NULL"])
        how = pick(HOW[1:] if where else HOW)  # with a condition, inner ends in a filter
        return left.join(right, on=on, how=how, where=where)

    def steps(self, size: int = 12) -> list[Step]:
        """Rows around the watermarks, which move on with the clock, and the end of the input."""
        random = self.random
        watermarks, clock, made = dict.fromkeys(self.sources, -10), 0, []
        for _ in range(random.randint(3, size)):
            what = random.choice("EEEEWWP")
            source = random.choice(self.sources)
            if what == "E":
                rows = [self.row(watermarks[source]) for _ in range(random.randint(1, 4))]
                made.append(Elements(rows, source=source))
            elif what == "W":
                watermarks[source] += random.randint(1, 12)
                made.append(Watermark(watermarks[source], source=source))
            else:
                clock += random.randint(1, 8)
                made.append(ProcessingTime(clock))
        return [*made, Watermark.end()]

    def row(self, watermark: int) -> dict[str, Any]:
        """A row near the watermark of its source."""
        at = float(watermark + self.random.randint(-10, 12))
        return {"k": self.random.choice(KEYS), "v": self.random.choice([1, 2, 5, None]), "at": at}
