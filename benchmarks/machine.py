"""The machine of the figures."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import polars as pl

BUSY = 0.5
"""A higher load, before anything begins, is from other programs."""
ROBBED = 0.01
"""If a host has given more than this share of the processors to others, figures are unreliable."""


def machine() -> dict[str, str]:
    """Its properties; Spark and Java report their own versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": f"{len(os.sched_getaffinity(0))} cores, {_processor()}",
        "memory": f"{memory / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "Polars": pl.__version__,
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def load() -> float:
    """How many processes were ready to run in the last minute."""
    return os.getloadavg()[0]


@dataclass(frozen=True)
class Processors:
    """The use of the processors since the system started, in clock ticks."""

    ticks: int
    stolen: int
    """Ticks for which a virtual machine would have run, and its host ran something else."""

    @classmethod
    def now(cls) -> Processors:
        """Up to now."""
        _, *ticks = Path("/proc/stat").read_text().splitlines()[0].split()
        # User, nice, system, idle, waiting, two kinds of interrupts, stolen; later fields are
        # included in the first two.
        counts = [int(each) for each in ticks[:8]]
        return cls(sum(counts), counts[7])

    def stolen_since(self, before: Processors) -> float:
        """The part of all time that was stolen."""
        return (self.stolen - before.stolen) / max(1, self.ticks - before.ticks)
