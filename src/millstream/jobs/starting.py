"""Shows what is being started until a job runs: a spinner in a terminal, else at most a line."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from millstream.jobs.log_lines import lines_on_stderr
from millstream.reports.outcome import log

Announce = Callable[[str], None]

RUNNING = "running"
"""The message when nothing is left to start."""
_LONG = 5.0  # seconds until a line is logged if there is no terminal


@contextmanager
def starting(name: str) -> Iterator[Announce]:
    """Shows messages until the block ends. Standard output is left to the program."""
    with ExitStack() as stack:
        console = _terminal(stack)
        yield stack.enter_context(_line(name) if console is None else _spinner(name, console))


def _terminal(stack: ExitStack) -> Console | None:
    """Standard error as a console, if it is a terminal that can draw."""
    if not sys.stderr.isatty():
        return None
    # A separate file: while Java starts, standard error is filtered line by line.
    file = open(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding)  # noqa: SIM115
    console = Console(file=stack.enter_context(file))
    return console if console.is_interactive and not console.options.ascii_only else None


@contextmanager
def _spinner(name: str, console: Console) -> Iterator[Announce]:
    spinner = Spinner("dots", style="cyan")
    redirect = sys.stdout.isatty()
    with Live(spinner, console=console, transient=True, redirect_stdout=redirect):

        def announce(what: str) -> None:
            spinner.update(text=Text.assemble((name, "bold"), f" {what} …"))

        announce("starting")
        yield announce


@contextmanager
def _line(name: str) -> Iterator[Announce]:
    doing = "starting"

    def announce(what: str) -> None:
        nonlocal doing
        doing = what
        if what == RUNNING:
            timer.cancel()

    def log_it() -> None:
        with ExitStack() as stack:
            if not log.hasHandlers():
                stack.enter_context(lines_on_stderr(log))
            log.info("job %r: %s", name, doing, extra={"millstream": {"job": name, "doing": doing}})

    timer = threading.Timer(_LONG, log_it)
    timer.daemon = True
    timer.start()
    try:
        yield announce
    finally:
        timer.cancel()
