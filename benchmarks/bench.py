"""Starts contenders, lets them take turns, and checks what they wrote.

Contenders run batch by batch, one after the other, and never at the same time. So whatever slows
the machine down for a while slows all of them down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.answers import check
from benchmarks.contender import Contender
from benchmarks.display import Display
from benchmarks.inputs import Batch
from benchmarks.sizes import Sizes
from benchmarks.spec import Engine, Spec

WINDOW_SECONDS = 10
FAR_BEHIND = 1.5
"""How many times as long as Spark's other store a store may take before it stops early."""
Seconds = dict[Engine, list[float]]


@dataclass
class Bench:
    """What all measurements share. ``cache`` has the input, ``folder`` is removed at the end."""

    sizes: Sizes
    engines: tuple[Engine, ...]
    cache: Path
    folder: Path
    driver_memory: str
    display: Display
    versions: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def contenders(
        self, *engines: Engine, label: str = "", **program: Any
    ) -> Iterator[dict[Engine, Contender]]:
        """Contenders whose Sparks have started; together, since nothing is measured yet."""
        program = {"window_seconds": WINDOW_SECONDS, **program}
        made: dict[Engine, Contender] = {}
        try:
            for engine in engines or self.engines:
                spec = Spec(engine, f"{self.folder}/{engine}{label}", **program)
                made[engine] = Contender(spec, self.driver_memory)
            for each in made.values():
                self.display.say(f"{each.title}: starting Spark")
                each.ready()
                self.versions.update(each.versions)
            yield made
        finally:
            for each in made.values():
                each.end()

    @contextmanager
    def contender(self, engine: Engine, label: str = "", **program: Any) -> Iterator[Contender]:
        """A single contender."""
        with self.contenders(engine, label=label, **program) as made:
            yield made[engine]

    def in_turns(
        self, contenders: Mapping[Engine, Contender], batches: list[Batch], warm_up: int
    ) -> Seconds:
        """Gives each batch to each contender; returns the times, the first with the start.

        Only the faster of Spark's stores counts. If the other is far behind, once batches count, it
        stops early.
        """
        seconds: Seconds = {engine: [] for engine in contenders}
        engines = list(contenders)
        for number, batch in enumerate(batches):
            at = number % len(engines)
            for engine in engines[at:] + engines[:at]:
                if _far_behind(engine, {e: all[warm_up:] for e, all in seconds.items()}):
                    self.display.step(f"{contenders[engine].title}: far behind")
                else:
                    seconds[engine].append(self.fed(contenders[engine], batch))
        return seconds

    def fed(self, contender: Contender, batch: Batch) -> float:
        """Gives a contender a batch; returns how long it took."""
        number = len(contender.fed) + 1
        self.display.say(f"{contender.title}: batch {number}")
        seconds = contender.batch(batch) if contender.fed else contender.start(batch)
        self.display.step(f"{contender.title}: batch {number}, {batch.rows:,} rows", seconds)
        return seconds

    def checked(self, contender: Contender) -> int:
        """Ends a contender's program and checks its output; returns the number of rows."""
        self.display.say(f"{contender.title}: checking the answers")
        contender.stop()
        return check(contender.spec, contender.fed)


def _far_behind(engine: Engine, counted: Seconds) -> bool:
    others = [median(s) for e, s in counted.items() if s and e not in ("millstream", engine)]
    if engine == "millstream" or not counted[engine] or not others:
        return False
    return min(counted[engine]) > FAR_BEHIND * min(others)
