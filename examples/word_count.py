"""Counts how often each word occurs in some text files.

The files are made here, always the same ones; Spark reads them all in one batch.
"""

from __future__ import annotations

import argparse
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

SENTENCES = [
    "The mill stands by the stream.",
    "The stream turns the wheel, and the wheel turns the stone.",
    "What the stream brings, the stone grinds.",
    "Late grain is grain as well!",
    "No grain is lost; the miller waits for the late carts.",
    "When the sluice closes, the flour is weighed.",
]


@dataclass
class Word:
    word: str


def words_of(line: dict[str, Any]) -> Iterator[Word]:
    for word in re.findall("[a-z]+", line["value"].lower()):
        yield Word(word)


def word_counts(books: Path) -> ms.Pipeline:
    """The program: what is counted, and where the result goes."""
    lines = ms.read_files(books, format="text", bounded=True, name="books")
    words = lines.flat_map(words_of).named("words")
    return words.key_by("word").aggregate(n=ms.count()).collect("counts")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as books:
        write_books(Path(books))
        with console.status("Spark starts, reads and counts …"):
            job = word_counts(Path(books)).run("word-count")
    show(console, {row["word"]: row["n"] for row in job.rows()})


def write_books(books: Path) -> None:
    """Three files of a thousand lines each."""
    for number in (1, 2, 3):
        lines = Random(number).choices(SENTENCES, k=1000)
        (books / f"book-{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def show(console: Console, counts: dict[str, int]) -> None:
    table = Table(title="The ten most frequent words", title_justify="left", box=None)
    table.add_column("word")
    table.add_column("times", justify="right")
    table.add_column()
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    for word in ranked[:10]:
        bar = "█" * round(24 * counts[word] / counts[ranked[0]])
        table.add_row(word, f"{counts[word]:,}", bar)
    console.print(table)
    console.print(f"{sum(counts.values()):,} words, {len(counts)} of them different.", style="dim")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
