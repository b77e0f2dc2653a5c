"""Compares the engines on random programs until it is stopped; keeps each failure as a transcript.

A failure is made as small as possible first, and then stands in tests/transcripts/found.yaml with
the reference's panes: find out which of the two the model says is right.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console

import millstream as ms
from millstream.model.windowing import checked_windowing
from millstream.testing import Transcript, replay
from millstream.testing.transcript_text import text_of
from scripts import refinements, settings_of_windows, steps, triggers, windows

FOUND = Path(__file__).parent.parent / "transcripts" / "found.yaml"
AGGREGATES = [
    *(f("value") for f in (ms.sum, ms.count, ms.min, ms.max, ms.first, ms.last, ms.any_value)),
    *(f("value") for f in (ms.collect, ms.collect_set, ms.count_distinct)),
    ms.top(2, by="value % 3"),
]
PROGRAMS = st.tuples(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from(AGGREGATES),
    steps(),
)


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


def main() -> None:
    console = Console()
    first = int(time.time())
    console.print(f"Comparing engines from seed {first} on; Ctrl-C stops.")
    for done in itertools.count():
        failed = one_round(first + done)
        if failed is not None:
            with FOUND.open("a", encoding="utf-8") as file:
                file.write("---\n" + text_of(failed))
            console.print(f"[red]{failed.name}: a difference, kept in {FOUND}")
        console.print(f"{(done + 1) * 500:,} programs compared")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
