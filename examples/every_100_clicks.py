"""Computes how long visitors stay on the pages of a website, for every hundred clicks on a page.

Files of clicks are added while the job runs, each with as many clicks as there happened to be. The
windows have exactly a hundred clicks each, however these arrive. Half way the job is stopped, and
resumed from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

import millstream as ms

CLICKS = [130, 45, 260, 90]  # in each file
STOPPED_AFTER = 2  # files
PAGES = ("home", "search", "help")

Click = dict[str, Any]


def clicks() -> list[list[Click]]:
    """The clicks of each file: a page, how long the visitor stayed, and when that was."""
    random, files, at = Random(1), [], 0.0
    for number in CLICKS:
        file = []
        for _ in range(number):
            at += random.randint(1, 20)
            page = random.choices(PAGES, (6, 3, 1))[0]
            file.append({"page": page, "seconds": random.randint(1, 300), "at": at})
        random.shuffle(file)  # they are in no order; their event times are
        files.append(file)
    return files


def every_100_clicks(folder: Path) -> ms.Pipeline:
    """The program: windows of a hundred clicks on each page."""
    stream = ms.read_files(
        folder, format="json", schema="page string, seconds int, at double",
        event_time="at", watermark=ms.bounded("10m"), name="clicks",
    )  # fmt: skip
    stays = (
        stream.key_by("page")
        .window(ms.count_window(100))
        .aggregate(clicks=ms.count(), mean=ms.mean("seconds"), longest=ms.max("seconds"))
    )
    return stays.collect("stays")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    files = list(enumerate(clicks(), start=1))
    with tempfile.TemporaryDirectory() as folder:
        follow(console, Path(folder), files[:STOPPED_AFTER])
        console.print("The job was stopped. It is resumed from its checkpoint.", style="dim")
        follow(console, Path(folder), files[STOPPED_AFTER:])


def follow(console: Console, folder: Path, files: Iterable[tuple[int, list[Click]]]) -> None:
    """Runs the job while files arrive, and shows the windows that each of them completes."""
    (folder / "clicks").mkdir(exist_ok=True)
    with console.status("Spark starts …"):
        job = every_100_clicks(folder / "clicks").run("stays", checkpoint=folder / "checkpoint")
    try:
        shown = 0
        for number, file in files:
            with console.status(f"File {number} arrives …"):
                add_file(folder / "clicks" / f"{number}.json", file)
                job.process_all()
            console.print(f"file {number}: {len(file)} clicks", style="bold")
            new = job.rows("stays")[shown:]
            shown += len(new)
            for row in sorted(new, key=lambda row: (row["page"], row["window"]["index"])):
                console.print(in_words(row), style="green")
    finally:
        job.stop()


def add_file(path: Path, rows: Iterable[Click]) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(hidden, path)


def in_words(row: dict[str, Any]) -> str:
    stay = f"mean {row['mean']:.2f} s, longest {row['longest']} s"
    return f"  {row['page']} #{row['window']['index']}: {row['clicks']} clicks, {stay}"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
