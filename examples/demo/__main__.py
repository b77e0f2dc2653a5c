"""Shows Millstream at work: it reads team scores from Kafka and writes their totals, pane by pane.

Starts a Kafka broker on this machine, a game that sends scores to it (out of order, some late, a
few malformed), a job that adds them up in windows of ten seconds, and a console that shows all that
in a browser. In the end it stops everything that it started, and draws what happened.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from rich.console import Console

from millstream.cli.interrupting import EXIT_CODE
from millstream.drawing.draw import Drawing
from millstream.model.errors import MillstreamError

from .run import run
from .view import Moment, equation

_NEXT = """\
What to try next:
  make demo ARGS=--forever      runs until Ctrl-C
  make example NAME=sessions    finds the visits of users to a website
  examples/demo/program.py      is the program: try other windows and triggers
  docs/guide.md                 explains them, one after the other"""


def main() -> None:
    options = read_arguments()
    # SIGTERM and SIGHUP, too, must leave nothing behind.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: signal.raise_signal(signal.SIGINT))
    # Forced colours do not make a file a terminal.
    console = Console(highlight=False, force_terminal=sys.stdout.isatty())
    try:
        end, drawing = run(console, None if options.forever else options.seconds)
    except MillstreamError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(EXIT_CODE)
    show_result(console, end)
    save_picture(console, drawing, options.svg)
    console.print(_NEXT, style="dim")
    sys.exit(1 if end.under_way else 0)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long it runs (60)")
    parser.add_argument("--forever", action="store_true", help="runs until Ctrl-C")
    parser.add_argument("--svg", type=Path, default=Path("demo.svg"), help="the picture (demo.svg)")
    options = parser.parse_args()
    if not options.svg.absolute().parent.is_dir():  # better now than in a minute
        parser.error(f"there is no folder for --svg {options.svg}")
    return options


def show_result(console: Console, end: Moment) -> None:
    console.print(equation(end), style="bold")
    if end.under_way:
        console.print("That does not add up, and it should: please report it.", style="red")
    console.print("The job and the broker are stopped, and their data is deleted.", style="dim")


def save_picture(console: Console, drawing: Drawing, file: Path) -> None:
    try:
        drawing.save(file)
    except OSError as error:
        sys.exit(f"The picture could not be written to {file}: {error.strerror}")
    console.print(f"The picture of its last minute is in [bold]{file}[/bold].\n")


if __name__ == "__main__":
    main()
