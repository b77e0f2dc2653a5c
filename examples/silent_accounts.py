"""Reports accounts that have been silent for a second, with their balance.

Each payment sets the timer of its account again: it fires when no payment has come for a second on
the clock, also if no account has any. In a real program the second is an hour, or a day.
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

Payment = tuple[str, int]

FILES: list[list[Payment]] = [
    [("ann", 40), ("bob", 15), ("ann", -10), ("eve", 5)],
    [("bob", 20), ("bob", -5)],
    [("ann", 1), ("eve", 95)],
]
"""The payments of each file: an account, and an amount."""


class Silence(ms.Processor):
    """Runs for each account."""

    silent = ms.timer("processing_time")

    class state:  # noqa: N801
        """What an account has."""

        balance: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.balance += row["amount"]
        timers.silent.set(after="1s")

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(account=timer.key["account"], balance=state.balance)


def silent_accounts(folder: Path) -> ms.Pipeline:
    """The program: a row for each account that falls silent."""
    payments = ms.read_files(
        folder, format="json", schema="account string, amount int", name="payments"
    )
    silent = payments.key_by("account").process(Silence, schema="account string, balance bigint")
    return silent.collect("silent")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        with console.status("Spark starts …"):
            job = silent_accounts(Path(folder)).run("silent-accounts")
        try:
            shown = 0
            for number, payments in enumerate(FILES, start=1):
                add_file(Path(folder) / f"{number}.json", payments)
                console.print(f"file {number}: {len(payments)} payments", style="bold")
                accounts = {account for account, _ in payments}
                with console.status("Waiting until they are silent …"):
                    while len(job.rows()) < shown + len(accounts):
                        time.sleep(0.1)
                new = job.rows()[shown:]
                shown += len(new)
                for row in sorted(new, key=lambda row: row["account"]):
                    console.print(f"  {row['account']} is silent, and has {row['balance']}")
        finally:
            job.stop()


def add_file(path: Path, payments: Iterable[Payment]) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    hidden = path.with_name(f".{path.name}")
    lines = (json.dumps({"account": account, "amount": amount}) for account, amount in payments)
    hidden.write_text("\n".join(lines), encoding="utf-8")
    os.replace(hidden, path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
