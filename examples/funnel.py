"""Computes how far the visitors of a shop get in each hour: they look, fill a cart, pay.

Views, carts and payments are three streams of files, which are added while the job runs. A cogroup
has all that a visitor did in an hour in one row, whichever stream it came from.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

import millstream as ms

HOURS = 5
VISITORS = 40
STREAMS = ("views", "carts", "payments")

Event = dict[str, Any]


def events() -> list[dict[str, list[Event]]]:
    """What happened in each hour, by stream."""
    random, hours = Random(1), []
    for hour in range(HOURS):
        made: dict[str, list[Event]] = {name: [] for name in STREAMS}
        for visitor in random.sample(range(VISITORS), 30):
            at = hour * 3600.0 + random.randint(0, 3000)
            for name, chance in zip(STREAMS, (1.0, 0.5, 0.6), strict=True):
                if random.random() >= chance:
                    break
                made[name].append({"visitor": f"v{visitor}", "at": at})
                at += random.randint(1, 100)
        hours.append(made)
    return hours


def funnel(folder: Path) -> ms.Pipeline:
    """The program: how many visitors have done what, by the hour."""
    steps = {}
    for name in STREAMS:
        stream = ms.read_files(
            folder / name, format="json", schema="visitor string, at double",
            event_time="at", watermark=ms.bounded("10m"), name=name,
        )  # fmt: skip
        steps[name] = stream.key_by("visitor").window(ms.fixed("1h"))
    done = ms.cogroup(**steps).select(
        *(f"CASE WHEN size({name}) > 0 THEN 1 ELSE 0 END AS {name}" for name in STREAMS)
    )
    sums = {name: ms.sum(name) for name in STREAMS}
    return done.window(ms.fixed("1h")).aggregate(**sums).collect("funnel")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for stream in STREAMS:
            (folder / stream).mkdir()
        with console.status("Spark starts …"):
            job = funnel(folder).run("funnel")
        try:
            shown = 0
            for number, hour in enumerate(events()):
                with console.status(f"The events of hour {number} arrive …"):
                    for stream, rows in hour.items():
                        add_file(folder / stream / f"{number}.json", rows)
                    job.process_all()
                for row in job.rows("funnel")[shown:]:
                    console.print(in_words(row))
                shown = len(job.rows("funnel"))
        finally:
            job.stop()


def add_file(path: Path, rows: list[Event]) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(hidden, path)


def in_words(row: dict[str, Any]) -> str:
    counts = ", ".join(f"{row[name]} {name}" for name in STREAMS)
    return f"{row['window']['start']:%H:%M}  {counts}"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
