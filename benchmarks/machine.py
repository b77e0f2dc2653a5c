"""The machine that the figures are of."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import polars as pl

BUSY = 0.5
"""A load above this, before anything begins, is somebody else's."""


def machine() -> dict[str, str]:
    """What it is; Spark and Java tell their versions themselves."""
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
    """How many processes wanted to run in the last minute."""
    return os.getloadavg()[0]
