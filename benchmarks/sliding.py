"""What it costs that windows overlap more: many slides against few, of the same windows."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from benchmarks import inputs
from benchmarks.bench import Bench
from benchmarks.results import Result, Target, phases
from benchmarks.sizes import Sizes

SLIDES = (60, 1)
"""How often a window of an hour starts, in seconds: a row is in 60 windows, or in 3,600."""


@dataclass(frozen=True)
class Slides:
    """A batch where each row is in 3,600 windows, against one where it is in 60.

    Only Millstream runs: Spark's own aggregation copies each row for each of its windows.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return len(SLIDES) * (sizes.long_warm_up + sizes.steady)

    def run(self, bench: Bench) -> list[Result]:
        sizes, warm_up = bench.sizes, bench.sizes.long_warm_up
        keys, count = sizes.sliding_keys, warm_up + sizes.steady
        batches = inputs.sliding(bench.cache, keys, sizes.rows, count)
        seconds: dict[int, list[float]] = {slide: [] for slide in SLIDES}
        with ExitStack() as stack:
            contenders = {
                slide: stack.enter_context(
                    bench.contender(
                        "millstream",
                        label=f"-{slide}",
                        window_seconds=inputs.HOUR,
                        slide_seconds=slide,
                    )
                )
                for slide in SLIDES
            }
            for number, batch in enumerate(batches):
                for slide in SLIDES if number % 2 else reversed(SLIDES):
                    seconds[slide].append(bench.fed(contenders[slide], batch))
            rows = {slide: bench.checked(each) for slide, each in contenders.items()}
            spent = {slide: phases(each, warm_up) for slide, each in contenders.items()}
        typical = {slide: median(all[warm_up:]) for slide, all in seconds.items()}
        cell = "\n".join(f"{inputs.HOUR // s:,} slides {t:.2f} s" for s, t in typical.items())
        few, many = (typical[slide] for slide in SLIDES)
        return [
            Result(
                self.name,
                f"{keys:,} keys, windows of 1 h, in many slides",
                {"millstream": cell},
                many / few,
                self.target,
                {"seconds": seconds, "rows written": rows, "phases": spent},
            )
        ]
