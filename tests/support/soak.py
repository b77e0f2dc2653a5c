"""Compares the engines on random programs until it is stopped; keeps each failure as a transcript.

A failure is made as small as possible first, and then stands in tests/transcripts/found.yaml with
the reference's panes: find out which of the two the model says is right.
"""

from __future__ import annotations

import itertools
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console

import millstream as ms
from millstream.model.errors import TestingError
from millstream.model.windowing import checked_windowing
from millstream.testing import Panes, Transcript, replay
from millstream.testing.on_spark import replay_session
from millstream.testing.spark_groupings import Script, replay_scripts
from millstream.testing.transcript_text import text_of
from millstream.testing.transcripts import check_panes
from random_jobs import RandomJob
from scripts import refinements, settings_of_windows, steps, triggers, waiting_triggers, windows

FOUND = Path(__file__).parent.parent / "transcripts" / "found.yaml"
AGGREGATES = [
    *(f("value") for f in (ms.sum, ms.count, ms.min, ms.max, ms.first, ms.last, ms.any_value)),
    *(f("value") for f in (ms.collect, ms.collect_set, ms.count_distinct)),
    ms.top(2, by="value % 3"),
]
ANY_PROGRAM = st.tuples(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from(AGGREGATES),
    steps(),
)
SHARING_SLICES = st.tuples(
    st.builds(ms.sliding, st.integers(9, 40), st.integers(1, 8), st.integers(-5, 5)),
    waiting_triggers(),
    refinements(),
    settings_of_windows().map(lambda options: {**options, "timestamp": "end"}),
    st.sampled_from(AGGREGATES[:7]),
    steps(),
)
PROGRAMS = st.one_of(ANY_PROGRAM, ANY_PROGRAM, ANY_PROGRAM, SHARING_SLICES)


def transcript_of(program, name: str) -> Transcript:
    """A program with the reference's panes."""
    window, trigger, refine, options, aggregate, script = program
    options = {**options, "trigger": trigger, "refine": refine, "allow_data_loss": True}
    panes = replay(window=window, aggregate=aggregate, steps=script, **options)
    return Transcript(
        name=name,
        source="the reference's panes; another engine differed",
        windowing=checked_windowing(window, **options),
        aggregate=aggregate,
        steps=tuple(script),
        panes=tuple(panes),
        late=tuple(panes.late),
    )


def one_round(number: int, examples: int = 500) -> Transcript | None:
    """The smallest program on which the engines differ, if this round finds one."""
    last: list[Transcript] = []

    @seed(number)
    @settings(
        max_examples=examples,
        derandomize=False,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(PROGRAMS)
    def compare(program):
        last[:] = [transcript_of(program, f"Found by soak {number}")]
        last[0].check("columnar")

    try:
        compare()
    except Exception:  # the engines differ, or one failed; Hypothesis ends with the smallest case
        if not last:
            raise
        return last[0]
    return None


def one_round_on_spark(number: int, examples: int = 60) -> list[Transcript]:
    """The programs on which Spark differs from the reference: as many as share one query.

    They are kept as they are: to make one small takes hundreds of queries.
    """
    transcripts = drawn(number, examples)
    scripts = [Script(t.windowing, t.steps, t.aggregate) for t in transcripts]
    return [
        transcript
        for transcript, panes in zip(transcripts, replay_scripts(scripts), strict=True)
        if differs(transcript, panes)
    ]


def drawn(number: int, examples: int) -> list[Transcript]:
    """Random programs; the number says which."""
    transcripts: list[Transcript] = []

    @seed(number)
    @settings(
        max_examples=examples,
        derandomize=False,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(PROGRAMS)
    def draw(program):
        transcripts.append(transcript_of(program, f"Found by soak {number}, {len(transcripts)}"))

    draw()
    return transcripts


def differs(transcript: Transcript, panes: Panes) -> bool:
    try:
        check_panes(transcript, panes, "spark")
    except TestingError:
        return True
    return False


def one_job(number: int, folder: Path) -> dict[str, Any]:
    """The sinks of a random job that differ from the reference."""
    job = RandomJob(number)
    job.write(folder)
    return job.differences(job.pipeline(folder), f"soak-{number}", replay_session())


def keep(failed: Transcript, console: Console) -> None:
    with FOUND.open("a", encoding="utf-8") as file:
        file.write("---\n" + text_of(failed))
    console.print(f"[red]{failed.name}: a difference, kept in {FOUND}")


def columns_from(first: int, console: Console) -> None:
    for done in itertools.count():
        failed = one_round(first + done)
        if failed is not None:
            keep(failed, console)
        console.print(f"{(done + 1) * 500:,} programs compared")


def spark_from(first: int, console: Console) -> None:
    for number in itertools.count(first):
        for failed in one_round_on_spark(number):
            keep(failed, console)
        with TemporaryDirectory() as folder:
            for sink, rows in one_job(number, Path(folder)).items():
                console.print(f"[red]RandomJob({number}), {sink!r}: {rows}")
        console.print(f"{number - first + 1:,} queries and jobs of several programs each compared")


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spark", action="store_true", help="compare Spark, not the columns")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first one")
    asked = parser.parse_args()
    console = Console()
    console.print(f"Comparing engines from seed {asked.seed} on; Ctrl-C stops.")
    (spark_from if asked.spark else columns_from)(asked.seed, console)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
