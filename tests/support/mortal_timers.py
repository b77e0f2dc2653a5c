"""A job that dies at chosen points, each of them once: ``mortal_timers.py FOLDER POINT=BATCH …``.

Beside the totals of ``mortal``, it reads FOLDER/payments, a file for each batch, and writes to
FOLDER/moves what accounts report: each payment, a timer by event time for each payment, and one by
the clock, which comes due while the job is down. It ends when all of these are there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl

import millstream as ms
import mortal
from families import bound_to_its_test
from waiting import until

COLUMNS = "batch int, account string, amount int, at double"
ACCOUNTS = [f"account {n}" for n in range(8)]
BATCHES = 6
MOVES = 3 * BATCHES * len(ACCOUNTS)
"""A row, a timer by event time and one by the clock for each payment."""


def payments_of(batch: int) -> list[dict[str, Any]]:
    """What comes in a batch; the last is a day later, and moves the watermark past all timers."""
    if batch == BATCHES:
        return [{"batch": batch, "account": "nobody", "amount": 0, "at": 86_400.0}]
    return [
        {"batch": batch, "account": account, "amount": 10 * batch + n, "at": 60.0 * batch + n}
        for n, account in enumerate(ACCOUNTS)
    ]


class Account(ms.Processor):
    """Reports payments, and each again when its timers fire."""

    settled = ms.timer("event_time")
    silent = ms.timer("processing_time")

    class state:  # noqa: N801
        balance: int = 0

    def __init__(self, reach: mortal.Reach) -> None:
        self._reach = reach

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        if row["account"] == "nobody":
            return
        state.balance += row["amount"]
        timers.settled.set(after="90s", tag=str(row["batch"]))
        timers.silent.set(after="2s", tag=str(row["batch"]), hold=False)
        out.emit((row["account"], "row", row["batch"], state.balance))

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        self._reach(timer.name, int(timer.tag))
        balance = state.balance if timer.name == "settled" else None
        out.emit((timer.key["account"], timer.name, int(timer.tag), balance))


def program(folder: Path, reach: mortal.Reach) -> ms.Pipeline:
    """The moves of accounts, in files."""
    payments = ms.read_files(
        folder / "payments", format="json", schema=COLUMNS, max_files_per_batch=1, name="payments"
    )
    timed = payments.with_event_time("at", ms.bounded("10s"))
    moves = timed.key_by("account").process(
        Account(reach), schema="account string, what string, batch int, balance bigint"
    )
    return moves.write_files(folder / "moves", name="moves")


def moves_in(folder: Path) -> pl.DataFrame:
    """What readers can see."""
    return pl.read_parquet(folder / "moves" / "part-*.parquet")


def main(folder: Path, *killed_at: str) -> None:
    bound_to_its_test()
    points = {point: int(batch) for point, batch in (each.split("=") for each in killed_at)}
    reach = mortal.dying(folder, points)
    mortal.arm(reach)
    both = ms.pipeline(mortal.program(folder, reach), program(folder, reach))
    job = both.run("totals", checkpoint=folder / "checkpoint")
    job.process_all()
    until(lambda: moves_in(folder).height >= MOVES, job)
    job.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
