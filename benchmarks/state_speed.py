"""How fast programs with state of each key are, against Spark's or another of Millstream's."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from benchmarks import inputs
from benchmarks.bench import Bench
from benchmarks.contender import Contender
from benchmarks.results import Result, Target, phases, rates
from benchmarks.sizes import Sizes
from benchmarks.spec import Engine, Program


@dataclass(frozen=True)
class StateSpeed:
    """Rows per second of a program with state, and of what it is compared with."""

    name: str
    title: str
    program: Program
    against: tuple[Engine, Program]
    target: Target
    many_keys: bool = False

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 2 * sizes.batches

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        keys = sizes.many_keys if self.many_keys else sizes.some_keys
        batches = inputs.windowed(bench.cache, keys, sizes.rows, sizes.batches)
        programs: list[tuple[Engine, Program]] = [("millstream", self.program), self.against]
        with ExitStack() as stack:
            both: list[Contender] = [
                stack.enter_context(bench.contender(engine, f"-{program}", program=program))
                for engine, program in programs
            ]
            seconds: list[list[float]] = [[], []]
            for number, batch in enumerate(batches):
                for which in (0, 1) if number % 2 else (1, 0):
                    seconds[which].append(bench.fed(both[which], batch))
            rows = [bench.checked(each) for each in both]
            spent = [phases(each, sizes.warm_up) for each in both]
        mine, other = (median(each[sizes.warm_up :]) for each in seconds)
        compared = {"millstream": mine, self.against[0]: other}
        if self.against[0] == "millstream":
            cells: dict[Engine, str] = {
                "millstream": "\n".join(
                    f"{program}: {sizes.rows / each / 1e6:.2f} M rows/s, {each:.2f} s"
                    for program, each in ((self.program, mine), (self.against[1], other))
                )
            }
        else:
            cells = rates(sizes.rows, compared)
        figures = {"seconds": seconds, "rows written": rows, "phases": spent}
        title = f"{keys:,} keys, {self.title}"
        return [Result(self.name, title, cells, other / mine, self.target, figures)]
