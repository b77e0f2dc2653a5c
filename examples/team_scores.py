"""The team scores of the Dataflow paper: ten scores, out of order, one of them late.

Shows the four questions, the panes as they come, and draws the picture of it as team-scores.svg.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import millstream as ms
from millstream.testing import Elements, Pane, Panes, ProcessingTime, Watermark, draw, replay

REFINEMENTS = {r.value: r for r in (ms.discarding, ms.accumulating, ms.retracting)}
WINDOWS = {"fixed": ms.fixed("2m"), "session": ms.session("1m", touching=True)}
COLOURS = {"EARLY": "yellow", "ON_TIME": "green", "LATE": "red"}


def clock(minutes: int, seconds: float = 0) -> float:
    """A time after 12:00:00, as seconds of the day."""
    return 12 * 3600 + minutes * 60 + seconds


def score(points: int, minutes: int, seconds: float) -> Elements:
    return Elements([("red", points, clock(minutes, seconds))])


# The scores of figure 5, and the watermark of figure 12. Clocks at a full minute are a moment
# later, so that triggers of every minute have fired.
STEPS = [
    *(ProcessingTime(clock(5, 20)), score(5, 0, 26.67)),
    *(ProcessingTime(clock(5, 40)), score(7, 2, 26.67)),
    *(ProcessingTime(clock(6, 0.001)), Watermark(clock(2))),
    *(ProcessingTime(clock(6, 13.3)), score(3, 3, 40)),
    *(ProcessingTime(clock(6, 26.7)), score(4, 3, 53.33)),
    *(ProcessingTime(clock(6, 40)), score(3, 4, 20)),
    *(ProcessingTime(clock(7, 0.001)),),
    *(ProcessingTime(clock(7, 6.7)), score(8, 3, 6.67)),
    *(ProcessingTime(clock(7, 20)), score(3, 6, 40)),
    *(ProcessingTime(clock(7, 30)), Watermark(clock(4))),
    *(ProcessingTime(clock(7, 40)), Watermark(clock(6))),
    *(ProcessingTime(clock(8, 0.001)),),
    *(ProcessingTime(clock(8, 20)), score(9, 1, 26.67)),
    *(ProcessingTime(clock(8, 40)), score(8, 7, 26.67)),
    *(ProcessingTime(clock(9)), score(1, 7, 46.67)),
    *(ProcessingTime(clock(9, 0.001)),),
    *(ProcessingTime(clock(9, 20)), Watermark(clock(8))),
    *(ProcessingTime(clock(9, 40)), Watermark(clock(9))),
]


def main() -> None:
    options = read_arguments()
    console = Console(highlight=False)
    trigger = ms.at_watermark(early=ms.every("1m"), late=ms.after_count(1))
    panes = replay(
        window=WINDOWS[options.window],
        trigger=trigger,
        refine=REFINEMENTS[options.refine],
        allowed_lateness="1h",
        on_time="if_changed",
        aggregate=ms.sum("value"),
        steps=STEPS,
    )
    show_questions(console, options, trigger)
    show_steps(console, panes, pause=0.12 if console.is_terminal and not options.quick else 0)
    show_result(console, panes, options.refine)
    save_picture(console, panes, options)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refine", choices=REFINEMENTS, default="retracting")
    parser.add_argument("--window", choices=WINDOWS, default="fixed")
    parser.add_argument("--output", type=Path, default=Path("team-scores.svg"), help="the picture")
    parser.add_argument("--quick", action="store_true", help="do not pause between steps")
    return parser.parse_args()


def show_questions(console: Console, options: argparse.Namespace, trigger: object) -> None:
    window = WINDOWS[options.window]
    answers = Table.grid(padding=(0, 2))
    for _ in range(3):
        answers.add_column(overflow="fold")  # nothing is truncated in a narrow terminal
    for question, about, answer in (
        ("What", "is computed", "aggregate(total=ms.sum('points'))"),
        ("Where", "in event time", f"window(ms.{window!r}, allowed_lateness='1h')"),
        ("When", "in processing time", f"trigger({trigger!r})"),
        ("How", "refinements relate", f"refine(ms.{options.refine})"),
    ):
        answers.add_row(Text(question, style="bold cyan"), Text(about, style="dim"), answer)
    console.print(Panel(answers, title="Team scores, four questions", border_style="cyan"))


def show_steps(console: Console, panes: Panes, pause: float) -> None:
    now = ""
    for i, step in enumerate(STEPS):
        if isinstance(step, ProcessingTime):
            now = time_of_day(step.us / 1e6)
        else:
            console.print(Text(now, style="dim"), happening(step))
        for pane in panes:
            if pane.step == i:
                console.print(Text(now, style="dim"), shown(pane))
                time.sleep(pause * 3)
        time.sleep(pause)


def happening(step: Elements | Watermark) -> Text:
    if isinstance(step, Watermark):
        return Text(f"  ~~~ watermark at {time_of_day(step.us / 1e6)}", style="blue")
    ((_, points, at),) = step.items
    noun = "point" if points == 1 else "points"
    return Text(f"  + {points} {noun}, scored at {time_of_day(at)}")


def shown(pane: Pane) -> Text:
    start, end = map(time_of_day, pane.window)
    if pane.kind == "-":
        return Text.assemble(
            "      ",
            (f"[{start}, {end})  {pane.value:>3}  retracted", "strike dim"),
        )
    timing = pane.timing.lower().replace("_", " ")
    colour = COLOURS[pane.timing]
    return Text.assemble(
        "    > ",
        (f"[{start}, {end})  {pane.value:>3}", f"bold {colour}"),
        (f"  {timing}", colour),
    )


def show_result(console: Console, panes: Panes, refine: str) -> None:
    table = Table(title="The final result", title_justify="left", box=None)
    table.add_column("window")
    table.add_column("total", justify="right")
    totals = final_totals(panes, refine)
    for window, total in sorted(totals.items()):
        start, end = map(time_of_day, window)
        table.add_row(f"[{start}, {end})", str(total))
    console.print()
    console.print(table)
    console.print(f"Together {sum(totals.values())}; the sum of the ten scores is 51.", style="dim")


def final_totals(panes: Panes, refine: str) -> dict[tuple[float, float], int]:
    """The totals of a reader that handles each pane according to the refinement."""
    totals: dict[tuple[float, float], int] = {}
    for pane in panes:
        if pane.kind == "-":
            del totals[pane.window]
        elif refine == "discarding":
            totals[pane.window] = totals.get(pane.window, 0) + pane.value
        else:
            totals[pane.window] = pane.value
    return totals


def save_picture(console: Console, panes: Panes, options: argparse.Namespace) -> None:
    subtitle = f"{WINDOWS[options.window]!r}, {options.refine}"
    try:
        draw(panes, STEPS, title="Team scores", subtitle=subtitle).save(options.output)
    except OSError as error:
        sys.exit(f"The picture could not be written to {options.output}: {error.strerror}")
    console.print(f"\nThe picture of this run is in [bold]{options.output}[/bold].")
    console.print("Try --refine discarding, --window session, or read docs/guide.md.", style="dim")


def time_of_day(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
