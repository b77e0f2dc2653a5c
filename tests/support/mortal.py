"""Totals by windows, in a job that can die at chosen points, each of them once.

It reads FOLDER/input, a file for each batch, and writes totals and late rows to files. Where it
dies it leaves a note of what it saw, FOLDER/deaths/POINT.
"""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millstream as ms
from millstream.spark.driver.ledger import Ledger
from millstream.stream import Stream
from millstream.system.folders import Folder

COLUMNS = "batch int, team string, points int, at double"

Reach = Callable[[str, int], None]
"""What is called where a batch has come to a point."""


def timed(scores: Stream, reach: Reach) -> Stream:
    """The scores with their event times."""

    def read(row: dict[str, Any]) -> dict[str, Any]:
        reach("read", row["batch"])
        return row

    return scores.map(read, schema=COLUMNS).with_event_time("at", ms.bounded("10s"))


def totals_of(scores: Stream, reach: Reach) -> Stream:
    """Totals of teams by the minute: early, on time, late; each refinement takes back the last."""

    def add(total: int, row: dict[str, Any]) -> int:
        reach("step", row["batch"])
        return total + row["points"] ** 2

    squares = ms.combine(create=int, add=add, extract=lambda total: total, returns="bigint")
    return (
        scores.key_by("team")
        .window(ms.fixed("1m"), allowed_lateness="1m")
        .trigger(ms.at_watermark(early=ms.after_count(2), late=ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("points"), squares=squares)
    )


def pairs_of(scores: Stream) -> Stream:
    """The even and the odd scores of a team, two by two, by each join that takes rows back."""
    even, odd = (scores.filter(f"points % 2 = {rest}") for rest in (0, 1))
    minutes = odd.window(ms.fixed("1m"))
    often = even.window(ms.fixed("1m"), allowed_lateness="1m").trigger(
        ms.at_watermark(early=ms.after_count(3), late=ms.after_count(1))
    )
    often = often.refine(ms.retracting)
    near = even.refine(ms.retracting).interval_join(
        odd, on="team", between=("10s", "30s"), how="full"
    )
    lists = ms.cogroup(even=often.key_by("team"), odd=minutes.key_by("team"))
    joins = {
        "window": often.join(minutes, on="team", how="full"),
        "interval": near,
        "regular": even.join(odd, "team", "full", "points_right < 10", ttl="1m"),
        "cogroup": lists.with_columns(points="size(even)", points_right="size(odd)"),
    }
    columns = ("team", "points", "points_right", "kind")
    return ms.union(*(each.select(*columns, by=f"'{name}'") for name, each in joins.items()))


def versions_of(scores: Stream) -> Stream:
    """The even scores of a team with its odd score before each, and its name, if it has one."""
    even, odd = (scores.filter(f"points % 2 = {rest}") for rest in (0, 1))
    names = {"team 1": "one", "team 2": "two"}
    named = even.lookup(names, on="team", schema="name string")
    return named.temporal_join(odd.select("team", before="points"), on="team", how="left")


def program(folder: Path, reach: Reach) -> ms.Pipeline:
    """The totals of files, and what joins make of them, in files."""
    scores = ms.read_files(
        folder / "input", format="json", schema=COLUMNS, max_files_per_batch=1, name="scores"
    )
    scores = timed(scores, reach)
    totals = totals_of(scores, reach)
    return ms.pipeline(
        totals.write_files(folder / "totals", name="totals"),
        totals.late.write_files(folder / "late", name="late"),
        pairs_of(scores).write_files(folder / "pairs", name="pairs"),
        versions_of(scores).write_files(folder / "versions", name="versions"),
    )


def dying(folder: Path, points: dict[str, int]) -> Reach:
    """Dies where a batch comes to one of the points, unless it has died there before."""
    driver = os.getpid()

    def reach(point: str, batch: int) -> None:
        if points.get(point) != batch:
            return
        try:
            with (folder / "deaths" / point).open("x") as note:
                json.dump({"stack": traceback.format_stack(), "files": files_in(folder)}, note)
        except FileExistsError:
            return
        os.killpg(driver, signal.SIGKILL)  # the driver's group, which Spark's JVM is in
        os.killpg(0, signal.SIGKILL)  # Spark's Python workers are a group of their own
        time.sleep(60)  # a signal may take a moment

    return reach


def files_in(folder: Path) -> list[str]:
    """All that the job has written."""
    places = [
        folder / name for name in ("totals", "late", "moves", "pairs", "versions", "checkpoint")
    ]
    files = [f for place in places for f in place.rglob("*") if f.is_file()]
    return sorted(str(file.relative_to(folder)) for file in files)


def arm(reach: Reach) -> None:
    """Puts the points on the driver between what happens there."""
    settle, move = Ledger.settle, Folder.move

    def settled(self: Ledger, batch: int, *rest: Any) -> None:
        reach("before the commit", batch)  # all tasks are done, and have committed their state
        settle(self, batch, *rest)
        reach("after the commit", batch)

    def moved(self: Folder, name: str, to: str) -> None:
        move(self, name, to)
        if to.startswith("part-"):
            reach("between two renames", int(to.split("-")[2]))

    Ledger.settle, Folder.move = settled, moved  # type: ignore[method-assign]
