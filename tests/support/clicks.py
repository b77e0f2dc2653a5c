"""Prices clicks, and adds them up: a program for ``millstream run`` on a cluster."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import millstream as ms
from click_prices import CENTS

CLICKS = "n bigint, page string, at double, hold string"
PRICED = "n bigint, page string, at double, cents bigint"


def priced(row: dict[str, Any]) -> dict[str, Any]:
    """A click with its price; one with a folder waits there."""
    hold = row.pop("hold")
    if hold is not None:
        wait_in(Path(hold))
    return {**row, "cents": CENTS[row["page"]]}


def wait_in(folder: Path) -> None:
    """Leaves a note of the process that waits and what it can import, until it may continue."""
    (folder / "note").write_text(json.dumps({"process": os.getpid(), "path": sys.path}))
    (folder / "note").rename(folder / "waiting")
    while not (folder / "continue").exists():
        time.sleep(0.05)


def program(servers: str, clicks: str, copies: str, sums: str) -> ms.Pipeline:
    """The clicks with their prices, and the sums of each page by the minute, to Kafka."""
    read = ms.read_kafka(clicks, CLICKS, servers=servers, name="clicks")
    prices = read.map(priced, schema=PRICED).with_event_time("at", ms.bounded("1s"))
    minutes = prices.key_by("page").window(ms.fixed("1m"))
    summed = minutes.aggregate(cents=ms.sum("cents"), numbers=ms.collect("n")).named("sums")
    return ms.pipeline(
        prices.write_kafka(copies, servers=servers, name="copies"),
        summed.write_kafka(sums, servers=servers, name="sums"),
    )
