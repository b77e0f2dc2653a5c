"""Which views of ads were clicked within ten minutes, and which were not: an interval join.

A view is billed when its click comes. That there is none is known when the watermark has passed the
ten minutes: then the view is emitted with null for the click.
"""

from __future__ import annotations

import argparse
import sys
from random import Random

from rich.console import Console
from rich.table import Table

import millstream as ms

View = tuple[int, str, float]
Click = tuple[int, float]

NOON = 12 * 3600.0
VIEWS = 400
ADS = ("boots", "hats", "umbrellas")


def views_and_clicks() -> tuple[list[View], list[Click]]:
    """A view each 5 seconds, and the clicks that some of them led to, up to 20 minutes later."""
    random = Random(7)
    views = [(number, random.choice(ADS), NOON + 5.0 * number) for number in range(VIEWS)]
    clicked = [view for view in views if random.random() < 0.4]
    clicks = [(number, seen + random.randint(1, 1200)) for number, _, seen in clicked]
    for rows in (views, clicks):
        random.shuffle(rows)  # they are in no order; their event times are
    return views, clicks


def ads() -> ms.Pipeline:
    """The program: each view with its click, or with none."""
    views, clicks = views_and_clicks()
    viewed = ms.from_rows(views, "view bigint, ad string, seen double", "seen", name="views")
    clicked = ms.from_rows(clicks, "view bigint, clicked double", "clicked", name="clicks")
    both = viewed.interval_join(clicked, on="view", between=("0s", "10m"), how="left")
    return (
        both.key_by("ad")
        .aggregate(views=ms.count(), clicks=ms.count("clicked"), seconds=ms.mean("clicked - seen"))
        .collect("ads")
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with console.status("Spark starts …"):
        job = ads().run("ads", mode="batch").wait()
    table = Table(title="Ads", title_justify="left", box=None)
    for column in ("ad", "views", "clicks", "seconds"):
        table.add_column(column)
    for row in sorted(job.rows("ads"), key=lambda row: row["ad"]):
        table.add_row(row["ad"], str(row["views"]), str(row["clicks"]), f"{row['seconds']:.1f}")
    console.print(table)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
