"""Finds the periods in which the temperature of a room was steady: it moved by less than a degree.

Sensors report each minute. A delta window lasts until a temperature differs by a degree or more
from the first one of the window, so a row of the result stands for many readings.
"""

from __future__ import annotations

import argparse
import sys
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

import millstream as ms

Reading = tuple[str, float, float]

MORNING = 6 * 3600.0
MINUTES = 240
# How much the temperature may move in a minute.
ROOMS = {"cellar": 0.02, "kitchen": 0.3, "office": 0.1}


def readings() -> list[Reading]:
    """A reading of each room in each minute: the room, its temperature, and when it was."""
    random, made = Random(4), []
    for room, moves in ROOMS.items():
        degrees = 18.0
        for minute in range(MINUTES):
            degrees = round(degrees + random.uniform(-moves, moves), 2)
            made.append((room, degrees, MORNING + minute * 60))
    random.shuffle(made)  # they are in no order; their event times are
    return made


def steady_periods() -> ms.Pipeline:
    """The program: a window for each period without a change of a degree."""
    stream = ms.from_rows(
        readings(), schema="room string, degrees double, at double", event_time="at"
    )
    periods = (
        stream.key_by("room")
        .window(ms.delta_window("degrees", 1.0))
        .aggregate(
            readings=ms.count(),
            first=ms.first("degrees"),
            low=ms.min("degrees"),
            high=ms.max("degrees"),
        )
    )
    return periods.collect("periods")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with console.status("Spark starts …"):
        job = steady_periods().run("periods", mode="batch").wait()
    table = Table(title="Steady periods", title_justify="left", box=None)
    for column in ("room", "from", "to", "readings", "first", "low", "high"):
        table.add_column(column)
    for row in sorted(job.rows("periods"), key=lambda row: (row["room"], row["window"]["index"])):
        table.add_row(*in_words(row))
    console.print(table)


def in_words(row: dict[str, Any]) -> list[str]:
    start, end = row["window"]["start"], row["window"]["end"]  # the end is just after the last
    degrees = (f"{row[name]:.2f}" for name in ("first", "low", "high"))
    return [row["room"], f"{start:%H:%M}", f"{end:%H:%M}", str(row["readings"]), *degrees]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
