"""Measures Millstream against Spark's own aggregation, side by side, and prints a table.

Each contender is a process with its own Spark, with the same settings. They read the same
parquet files and write parquet files; what they wrote is compared with the truth, and a difference
ends the benchmark. Times are those that Spark reports for its micro-batches; the first ones do not
count, and of the rest the table has the median.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import dstream_speed
from benchmarks.answers import WrongAnswerError
from benchmarks.bench import Bench
from benchmarks.contender import ContenderError
from benchmarks.display import Display
from benchmarks.machine import BUSY, ROBBED, Processors, load, machine
from benchmarks.measurements import MEASUREMENTS, Measurement
from benchmarks.results import Result
from benchmarks.sizes import QUICK, Sizes
from benchmarks.spec import ENGINES
from benchmarks.table import print_table

CACHE = Path(__file__).parents[1] / ".cache" / "bench"
WIDTH = 130
"""The width of the table without a terminal."""


def arguments() -> argparse.Namespace:
    names = f"some of: {', '.join(each.name for each in MEASUREMENTS)}"
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only",
        type=_chosen,
        metavar="NAMES",
        help=names,
    )
    parser.add_argument(
        "--kafka", action="store_true", help="all from Kafka to Kafka, instead of from files"
    )
    parser.add_argument(
        "--dstream",
        action="store_true",
        help="only DStream programs, against pyspark.streaming",
    )
    parser.add_argument(
        "--nexmark", action="store_true", help="only the queries of Nexmark, beside Spark's own"
    )
    parser.add_argument(
        "--against",
        choices=[engine for engine in ENGINES if engine != "millstream"],
        help="only one of Spark's state stores (live-keys: always rocksdb)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small data: shows that it runs, measures nothing"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all figures to a file")
    parser.add_argument(
        "--driver-memory", default="4g", metavar="SIZE", help="the heap of each JVM (4g)"
    )
    asked = parser.parse_args()
    if asked.only is None:
        asked.only = [m for m in MEASUREMENTS if m.name.startswith("kafka") == asked.kafka]
    return asked


def _chosen(names: str) -> list[Measurement]:
    known = {each.name: each for each in MEASUREMENTS}
    unknown = sorted(set(names.split(",")) - known.keys())
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no measurement {unknown[0]!r}; there are {', '.join(known)}"
        )
    return [known[name] for name in names.split(",")]


def main() -> None:
    asked = arguments()
    if not Path("/proc/self/smaps_rollup").exists():
        sys.exit("the benchmark needs Linux: it finds processes and their memory in /proc")
    # Without this, started processes would continue.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    if asked.dstream:
        dstream_speed.measure(console, asked.quick, asked.json)
        return
    if asked.nexmark:
        from benchmarks import nexmark_speed  # it starts Spark in this process

        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {asked.driver_memory} pyspark-shell"
        nexmark_speed.measure(console, asked.quick, asked.json)
        return
    before, processors = load(), Processors.now()
    sizes = QUICK if asked.quick else Sizes()
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
    results: list[Result] = []
    engines = tuple(e for e in ENGINES if asked.against in (None, e) or e == "millstream")
    steps = sum(each.steps(sizes, len(engines)) for each in asked.only)
    try:
        with Display(console, steps) as display:
            bench = Bench(sizes, engines, CACHE, folder, asked.driver_memory, display)
            for each in asked.only:
                display.measure(each.name)
                results += each.run(bench)
    except (WrongAnswerError, ContenderError) as error:
        sys.exit(f"\nThe benchmark failed.\n{error}")
    except KeyboardInterrupt:
        sys.exit("stopped")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    facts = {**machine(), **bench.versions, "heap of each JVM": asked.driver_memory}
    print_table(console, results)
    console.print(", ".join(f"{what} {value}" for what, value in facts.items()))
    stolen = Processors.now().stolen_since(processors)
    notes = _notes(asked.quick, before, stolen)
    for note in notes:
        console.print(note)
    if asked.json is not None:
        asked.json.write_text(json.dumps(_figures(results, facts, before, stolen), indent=2) + "\n")


def _notes(quick: bool, before: float, stolen: float) -> list[str]:
    notes = [
        "All contenders write the same columns, to parquet files (snappy) or to Kafka; their "
        "answers were correct. Ratios of rows/s are against the faster of Spark's "
        "stores that ran."
    ]
    if quick:
        notes.append("[yellow]The data was small (--quick): these figures mean nothing.[/yellow]")
    if before > BUSY:
        notes.append(
            f"[yellow]The load was {before:.1f} before anything began: something else is running, "
            "and the figures are unreliable.[/yellow]"
        )
    if stolen > ROBBED:
        notes.append(
            f"[yellow]The host of this virtual machine gave {stolen:.1%} of its processors to "
            "others meanwhile: single figures, above all those of latency, may be wrong.[/yellow]"
        )
    return notes


def _figures(
    results: list[Result], facts: dict[str, str], before: float, stolen: float
) -> dict[str, Any]:
    return {
        "machine": facts,
        "load before": before,
        "stolen by the host": stolen,
        "results": [result.to_json() for result in results],
    }


if __name__ == "__main__":
    main()
