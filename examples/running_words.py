"""Counts words while files of text arrive: each file shows the words that it has, with new counts.

The count of a word is its state, which lives as long as the job, over all batches.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

import millstream as ms

FILES = ["a", "a b", "b", "the stream turns the wheel and the wheel turns the stone"]
"""The text of each file: after the first, "a" has been seen once, after the second twice."""


def running_words(folder: Path) -> ms.Pipeline:
    """The program: for each word that arrives, how often it has."""
    lines = ms.read_files(folder, format="text", max_files_per_batch=1, name="lines")
    words = lines.flat_map(in_words, schema="word string")
    counts = words.key_by("word").update_state(lambda row, count: count + 1, initial=0)
    return counts.collect("counts")


def in_words(row: dict[str, Any]) -> list[dict[str, str]]:
    return [{"word": word} for word in row["value"].split()]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        with console.status("Spark starts …"):
            job = running_words(Path(folder)).run("running-words")
        try:
            shown = 0
            for number, text in enumerate(FILES, start=1):
                with console.status(f"File {number} arrives …"):
                    add_file(Path(folder) / f"{number}.txt", text)
                    job.process_all()
                new = job.rows()[shown:]
                shown += len(new)
                # A word that is in the file twice has two rows: the last has the count.
                counts = {row["word"]: row["state"] for row in new}
                listed = ", ".join(f"{word} {counts[word]}" for word in sorted(counts))
                console.print(f"file {number}: {listed}")
        finally:
            job.stop()


def add_file(path: Path, text: str) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text, encoding="utf-8")
    os.replace(hidden, path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
