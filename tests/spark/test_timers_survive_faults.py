"""Timers of a job that is killed at any point and resumed fire once, also those due meanwhile."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import mortal_timers
from families import Family
from millstream.reference.interpreter import Interpreter

POINTS = {"read": 1, "settled": 0, "silent": 2, "before the commit": 3, "after the commit": 5}
"""Where it dies: while a source is read, in timers of both kinds, around the commit of sinks."""
EACH_LIFE = 300.0  # seconds; a dozen are enough where nothing else runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What is left of the job when it has died at each point, and has come to its end."""
    folder = tmp_path_factory.mktemp("timers")
    (folder / "deaths").mkdir()
    (folder / "input").mkdir()
    for batch in range(mortal_timers.BATCHES + 1):
        file = folder / "input" / f"{batch}.json"
        file.write_text("\n".join(map(json.dumps, mortal_timers.payments_of(batch))))
        os.utime(file, (1_000_000_000 + batch,) * 2)  # Spark reads the oldest first
    points = [f"{point}={batch}" for point, batch in POINTS.items()]
    exits: list[int] = []
    while 0 not in exits and len(exits) <= len(POINTS):
        log = folder / f"life-{len(exits)}.log"
        script = Path(mortal_timers.__file__)
        with Family(script, folder, *points, log=log, scratch=folder / "scratch") as family:
            exits.append(family.ended(within=EACH_LIFE))
        assert exits[-1] in (0, -signal.SIGKILL), family.printed()
    assert exits == [-signal.SIGKILL] * len(POINTS) + [0]
    assert {note.name for note in folder.glob("deaths/*")} == POINTS.keys()
    return folder


def moves(folder: Path, *what: str) -> list[dict[str, Any]]:
    found = mortal_timers.moves_in(folder).filter(pl.col("what").is_in(what)).to_dicts()
    return sorted(found, key=str)


def test_rows_and_event_time_timers_give_what_the_reference_gives(folder):
    (sink,) = mortal_timers.program(folder, lambda point, batch: None).sinks
    interpreter = Interpreter(sink)
    expected = []
    for batch in range(mortal_timers.BATCHES + 1):
        rows = mortal_timers.payments_of(batch)
        watermark = max(row["at"] for row in rows) - 10
        made = interpreter.step(
            rows={"payments": rows}, watermarks={"payments": int(watermark * 1_000_000)}
        )
        expected += [row.values for row in made.rows[sink]]
    assert moves(folder, "row", "settled") == sorted(expected, key=str)


def test_each_timer_by_the_clock_fires_once(folder):
    fired = Counter((move["account"], move["batch"]) for move in moves(folder, "silent"))
    expected = [(a, n) for a in mortal_timers.ACCOUNTS for n in range(mortal_timers.BATCHES)]
    assert fired == Counter(expected)
