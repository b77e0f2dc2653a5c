"""The log of a job that ``millstream run`` has started: one file, and the one before it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

MOST_BYTES = 10 << 20
"""How large a log may become before it is put aside."""


def log_file(registry: Path, name: str, job: str) -> Path:
    """Where the log of a job is, beside the registry."""
    return registry.parent / "logs" / f"{name}-{job}.log"


def write_line(file: Path, text: str) -> None:
    """Adds a line with the time to a log; without one, the job runs as well."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC millstream: {text}\n")


def limit_size(file: Path, most: int = MOST_BYTES) -> None:
    """Puts what is in a large log aside, while processes continue to append to it."""
    with suppress(OSError):
        if file.stat().st_size > most:
            shutil.copyfile(file, before(file))
            os.truncate(file, 0)


def before(file: Path) -> Path:
    """Where an earlier part of a log is put."""
    return file.with_name(f"{file.name}.1")
