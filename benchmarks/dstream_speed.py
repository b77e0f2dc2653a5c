"""``--dstream``: DStream programs on ``millstream.dstream`` and on ``pyspark.streaming``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from benchmarks.results import Target

MODULES = {"millstream": "millstream.dstream", "pyspark": "pyspark.streaming"}
FASTER = Target(1.0, at_least=True)
TITLES = {
    "queue": ("word count over queueStream", FASTER),
    "socket": ("word count over a socket, at 1 s", FASTER),
    "inverse": ("reduceByKeyAndWindow over 10 batches, with an inverse", FASTER),
    "no inverse": ("reduceByKeyAndWindow over 10 batches, without", FASTER),
    "latency": ("from the time of a batch to its end, at 1 s", Target(1.2)),
}


def measure(console: Console, quick: bool, file: Path | None) -> None:
    """Runs both, one after the other, and prints a table."""
    sizes = ("2000", "3", "20000") if quick else ("100000", "12", "2000000")
    found = {name: _run(module, sizes) for name, module in MODULES.items()}
    table = Table(
        "measured", "Millstream", "pyspark.streaming", "ratio", "to reach", show_lines=True
    )
    for name, (title, target) in TITLES.items():
        ours, theirs = found["millstream"][name], found["pyspark"][name]
        faster = theirs["seconds"] / ours["seconds"]
        ratio = faster if target.at_least else 1 / faster
        table.add_row(title, _cell(ours), _cell(theirs), target.shown(ratio), str(target))
    console.print(table)
    console.print(
        f"{int(sizes[0]):,} keys and as many records in a batch. Seconds are the shortest interval "
        "that was kept up with, except for the socket, where they are all it took, and the last "
        "line. The sums of all batches were correct."
    )
    facts = machine()
    console.print(", ".join(f"{what} {value}" for what, value in facts.items()))
    if file is not None:
        file.write_text(json.dumps({"machine": facts, "results": found}, indent=2) + "\n")


def _run(module: str, sizes: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        command = [sys.executable, "-m", "benchmarks.dstream_program", module, folder, *sizes]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        sys.exit(f"\nThe benchmark failed: {module} ended with {ran.returncode}.")
    measured: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return measured


def _cell(measured: dict[str, float]) -> str:
    rate = measured.get("records/s")
    return f"{measured['seconds']:.2f} s" + (f"\n{rate:,.0f} records/s" if rate else "")
