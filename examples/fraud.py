"""Finds payments that may be fraud: a large one soon after a tiny one, with the same card.

Thieves try a card with a tiny payment first. A minute later that is forgotten: a minute of event
time, however late payments arrive. The owner of the card is asked, and has a second on the clock to
confirm the large payment; then the card is blocked. Questions and blocked cards are a side output.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

import millstream as ms

TINY, LARGE = 1.0, 500.0
COLUMNS = "card string, amount double, at double"
ALERT = "card string, alert string"

# Each file: the card, the amount (none where the owner confirms), and the event time in seconds.
FILES: list[list[tuple[str, float | None, float]]] = [
    [("visa 1", 0.5, 10), ("visa 2", 20.0, 15), ("visa 3", 0.1, 20), ("visa 4", 0.2, 25)],
    # Card 1 pays within the minute, though it arrives late; card 3 pays after it.
    [("visa 3", 800.0, 95), ("visa 4", 900.0, 40), ("visa 1", 700.0, 30), ("visa 4", None, 50)],
    [("visa 2", 950.0, 100), ("visa 2", 3.0, 600)],
]


class Fraud(ms.Processor):
    """Runs for each card: what it remembers is the card's state."""

    forget = ms.timer("event_time")
    answer = ms.timer("processing_time")

    class state:  # noqa: N801
        """Whether the card was tried, and the amount that its owner is asked about."""

        tried: bool = False
        asked: float | None = None

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        if row["amount"] is None:
            if state.asked is not None:
                out.emit(card=row["card"], amount=state.asked)
            state.asked = None
            timers.answer.clear()
        elif row["amount"] < TINY:
            state.tried = True
            timers.forget.set(after="1m")
        elif row["amount"] >= LARGE and state.tried:
            state.asked = row["amount"]
            timers.answer.set(after="1s")
            out.to("alerts").emit(card=row["card"], alert=f"did you pay {row['amount']:.2f}?")
        else:
            out.emit(card=row["card"], amount=row["amount"])

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        if timer.name == "forget":
            state.tried = False
        else:
            state.asked = None
            out.to("alerts").emit(card=timer.key["card"], alert="blocked, for nobody answered")


def fraud(folder: Path) -> ms.Pipeline:
    """The program: payments in the order of event time, as far as the watermark has come."""
    payments = ms.read_files(
        folder, format="json", schema=COLUMNS,
        event_time="at", watermark=ms.bounded("1m"), max_files_per_batch=1, name="payments",
    )  # fmt: skip
    good = payments.key_by("card").process(
        Fraud, schema="card string, amount double", outputs={"alerts": ALERT}, order="event_time"
    )
    return ms.pipeline(good.collect("good"), good.output("alerts").collect("alerts"))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        with console.status("Spark starts …"):
            job = fraud(Path(folder)).run("fraud")
        try:
            for number, payments in enumerate(FILES, start=1):
                with console.status(f"File {number} arrives …"):
                    add_file(Path(folder) / f"{number}.json", payments)
                    job.process_all()
            with console.status("Owners of cards have a second to answer …"):
                while not any("blocked" in row["alert"] for row in job.rows("alerts")):
                    job.progress()
                    time.sleep(0.1)
        finally:
            job.stop()
        console.print("Payments that pass", style="bold")
        for row in sorted(job.rows("good"), key=lambda row: (row["card"], row["amount"])):
            console.print(f"  {row['card']}  paid {row['amount']:.2f}", style="green")
        console.print("Alerts, a side output", style="bold")
        for row in sorted(job.rows("alerts"), key=lambda row: str(row["card"])):
            console.print(f"  {row['card']}  {row['alert']}", style="red")


def add_file(path: Path, rows: Iterable[tuple[str, float | None, float]]) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    hidden = path.with_name(f".{path.name}")
    names = ("card", "amount", "at")
    lines = (json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    hidden.write_text("".join(lines), encoding="utf-8")
    os.replace(hidden, path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
