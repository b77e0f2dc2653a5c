"""A job that stands still inside a ``map`` until FOLDER/go is there: ``overtaken.py FOLDER``.

It reads FOLDER/input, a file for each batch, and writes the rows to FOLDER/out. It ends when it has
processed what is there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import millstream as ms
from families import bound_to_its_test


def program(folder: Path, stands_still: bool) -> ms.Pipeline:
    """Each number, as it is, with a group of its own in the state."""

    def read(row: dict[str, Any]) -> dict[str, Any]:
        while stands_still and not (folder / "go").exists():
            (folder / "standing").touch()
            time.sleep(0.05)
        return row

    numbers = ms.read_files(
        folder / "input", format="json", schema="n int", max_files_per_batch=1, name="numbers"
    )
    return numbers.map(read, schema="n int").write_files(folder / "out", "json", name="out")


def main(folder: Path) -> None:
    bound_to_its_test()
    job = program(folder, stands_still=True).run("copies", checkpoint=folder / "checkpoint")
    job.process_all().stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
