"""Finds the visits of users to a website: sessions of clicks, less than half an hour apart.

Files of clicks are added while the job runs. The output shows what each changes: a session begins,
grows, or merges with another. Half way the job is stopped, and resumed from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import millstream as ms

# The arrivals, file by file: who clicked what, and when.
ARRIVALS = [
    [("ann", "home", "10:00"), ("ann", "search", "10:12"), ("bob", "home", "10:05")],
    [("ann", "cart", "10:55"), ("bob", "search", "10:20")],
    # A delayed click: it merges ann's two sessions.
    [("ann", "product", "10:35")],
    [("cid", "home", "12:30"), ("bob", "home", "12:20")],
    # All sessions of the morning have ended, so 09:00 is too late.
    [("cid", "search", "12:40"), ("bob", "help", "09:00")],
]
STOPPED_AFTER = 2  # files

Change = dict[str, Any]


def visits(clicks: Path) -> ms.Pipeline:
    """The program: sessions of each user, retracted and emitted again when they change."""
    stream = ms.read_files(
        clicks, format="json", schema="user string, page string, at timestamp",
        event_time="at", watermark=ms.bounded("30m"), name="clicks",
    )  # fmt: skip
    sessions = (
        stream.key_by("user")
        .window(ms.session("30m"))
        .trigger(ms.at_watermark(early=ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(pages=ms.collect("page"))
    )
    return ms.pipeline(sessions.collect("visits"), sessions.late.collect("late"))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        files = list(enumerate(ARRIVALS, start=1))
        changes = follow(console, Path(folder), files[:STOPPED_AFTER])
        console.print("The job was stopped. It is resumed from its checkpoint.", style="dim")
        changes += follow(console, Path(folder), files[STOPPED_AFTER:])
    show_visits(console, changes)


def follow(console: Console, folder: Path, files: Iterable[tuple[int, Any]]) -> list[Change]:
    """Runs the job while files arrive, and shows what each of them changes."""
    clicks = folder / "clicks"
    clicks.mkdir(exist_ok=True)
    with console.status("Spark starts …"):
        job = visits(clicks).run("visits", checkpoint=folder / "checkpoint")
    try:
        changes, late = 0, 0
        for number, arrivals in files:
            with console.status(f"File {number} arrives …"):
                add_file(clicks / f"{number}.json", arrivals)
                job.process_all()
            console.print(f"file {number}", style="bold")
            for change in sorted(job.rows("visits")[changes:], key=itemgetter("user")):
                console.print(in_words(change), style="green" if change["kind"] == "+" else "dim")
            for click in job.rows("late")[late:]:
                console.print(f"  ! {click['user']} at {click['at']:%H:%M} is late", style="red")
            changes, late = len(job.rows("visits")), len(job.rows("late"))
        return job.rows("visits")
    finally:
        job.stop()


def add_file(path: Path, arrivals: Iterable[tuple[str, str, str]]) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    rows = [{"user": u, "page": p, "at": f"2024-05-01T{at}:00Z"} for u, p, at in arrivals]
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(hidden, path)


def in_words(change: Change) -> str:
    start, end = change["window"]["start"], change["window"]["end"]
    pages = ", ".join(change["pages"])
    return f"  {change['kind']} {change['user']}  {start:%H:%M} to {end:%H:%M}  {pages}"


def show_visits(console: Console, changes: list[Change]) -> None:
    """The final visits: all that were emitted, except those that were retracted."""
    final: dict[tuple[str, datetime], Change] = {}
    for change in changes:
        name = change["user"], change["window"]["start"]
        if change["kind"] == "+":
            final[name] = change
        else:
            del final[name]
    table = Table(title="The visits", title_justify="left", box=None)
    for column in ("user", "from", "until", "pages"):
        table.add_column(column)
    for (user, start), visit in sorted(final.items()):
        end = visit["window"]["end"]
        table.add_row(user, f"{start:%H:%M}", f"{end:%H:%M}", ", ".join(visit["pages"]))
    console.print()
    console.print(table)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
