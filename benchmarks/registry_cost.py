"""What it costs a job that it is recorded in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks import inputs
from benchmarks.bench import Bench
from benchmarks.results import Result, Target, phases
from benchmarks.sizes import Sizes


@dataclass(frozen=True)
class RegistryCost:
    """The processor time of the thread that writes the registry, against that of the batches.

    The job never waits for this thread, so it loses no more than the time that it takes from the
    processors. Batches vary by more than that: two jobs, one of them without a registry, would only
    show chance. Batches are short, with few keys, so that there are many to record.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return sizes.long_warm_up + sizes.steady

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        count = sizes.long_warm_up + sizes.steady
        batches = inputs.windowed(bench.cache, sizes.few_keys, sizes.rows, count)
        with bench.contender("millstream") as contender:
            seconds = [bench.fed(contender, batch) for batch in batches]
            before, after = contender.registry_seconds
            bench.checked(contender)
            spent = phases(contender, sizes.long_warm_up)
        each = (after - before) / (count - 1)
        typical = median(seconds[sizes.long_warm_up :])
        return [
            Result(
                self.name,
                f"the registry's part of a batch, {sizes.few_keys:,} keys",
                {"millstream": f"{each * 1000:.1f} ms of {typical:.2f} s"},
                100 * each / typical,
                self.target,
                {"seconds": seconds, "registry": [before, after], "phases": spent},
            )
        ]
