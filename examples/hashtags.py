"""Completes hashtags while people type: the three most used ones that begin with some letters.

Posts arrive in files while the job runs. It counts each tag, hour by hour, and ranks the counts
for each prefix: two groupings, one after the other. When a count grows, the old count is
retracted in the second grouping, so no tag is in its ranking twice.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

import millstream as ms

TAGS = ["spring", "sport", "spa", "sun", "summer", "sunday", "stream", "street", "stone"]
# How often each tag is used, file by file. The last file begins a new hour.
TRENDS = {
    "12:05": [9, 6, 3, 8, 1, 4, 2, 5, 1],
    "12:25": [2, 9, 1, 3, 9, 2, 8, 1, 4],
    "12:45": [1, 2, 2, 2, 9, 9, 9, 2, 1],
    "13:05": [1, 1, 9, 1, 1, 2, 0, 0, 6],
}
POSTS_IN_A_FILE = 200
LONGEST = 3  # letters of a prefix
TYPED = ["s", "sp", "su", "st"]


@dataclass
class Tag:
    tag: str


@dataclass
class Completion:
    prefix: str
    tag: str
    n: int


def tags_of(post: dict[str, Any]) -> Iterator[Tag]:
    for tag in re.findall(r"#(\w+)", post["text"]):
        yield Tag(tag.lower())


def completions_of(counted: dict[str, Any]) -> Iterator[Completion]:
    tag, n = counted["tag"], counted["n"]
    for length in range(1, min(len(tag), LONGEST) + 1):
        yield Completion(tag[:length], tag, n)


def suggestions(posts: Path, out: Path) -> ms.Pipeline:
    """The program: a ranking of tags for each prefix and hour, refined as posts arrive."""
    at_once = ms.at_watermark(early=ms.after_count(1))
    stream = ms.read_files(
        posts, format="json", schema="text string, at timestamp",
        event_time="at", watermark=ms.bounded("10m"), name="posts",
    )  # fmt: skip
    counts = (
        stream.flat_map(tags_of).named("tags")
        .key_by("tag").window(ms.fixed("1h")).trigger(at_once).refine(ms.retracting)
        .aggregate(n=ms.count()).named("counts")
    )  # fmt: skip
    rankings = (
        counts.flat_map(completions_of).named("completions")
        .key_by("prefix").window(ms.fixed("1h")).trigger(at_once).refine(ms.accumulating)
        .aggregate(best=ms.top(3, by="n")).named("rankings")
    )  # fmt: skip
    rows = rankings.select("prefix", "best", "window.start AS hour", "pane.index AS version")
    return rows.write_files(out, format="json", name="suggestions")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        shown = follow(console, Path(folder))
    show(console, shown)


def follow(console: Console, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Runs the job while files are added; returns the suggestions after each, by prefix."""
    posts, out = folder / "posts", folder / "suggestions"
    posts.mkdir()
    with console.status("Spark starts …"):
        job = suggestions(posts, out).run("hashtags", checkpoint=folder / "checkpoint")
    try:
        shown = {}
        for time, weights in TRENDS.items():
            with console.status(f"The posts of {time} arrive …"):
                add_file(posts / f"{time.replace(':', '')}.json", time, weights)
                job.process_all()
            shown[time] = newest(out)
        return shown
    finally:
        job.stop()


def add_file(path: Path, time: str, weights: list[int]) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    tags = Random(time).choices(TAGS, weights, k=POSTS_IN_A_FILE)
    rows = [{"text": f"Look at this! #{tag}", "at": f"2024-05-01T{time}:00Z"} for tag in tags]
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(hidden, path)


def newest(out: Path) -> dict[str, list[str]]:
    """The newest ranking for each prefix, in the written files."""
    files = out.glob("part-*.json")
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    rows.sort(key=lambda row: (row["hour"], row["version"]))
    return {row["prefix"]: [f"{b['tag']} {b['n']}" for b in row["best"]] for row in rows}


def show(console: Console, shown: dict[str, dict[str, list[str]]]) -> None:
    table = Table(title="What is suggested after …", title_justify="left", box=None)
    table.add_column("typed")
    for time in shown:
        table.add_column(time)
    for prefix in TYPED:
        cells = ["\n".join(suggested.get(prefix, [])) + "\n" for suggested in shown.values()]
        table.add_row(f"#{prefix}…", *cells)
    console.print(table)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
