"""What a traceback shows of an error: the lines of the user's program, and the message.

Between those are many lines of Millstream, of PySpark and of Java. They are left out, unless the
environment has ``MILLSTREAM_TRACEBACK=full``. What Spark raised is in ``error.__context__``.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from millstream.model.errors import MillstreamError

_OURS = str(Path(__file__).parents[1])
_BEGINS = "Traceback (most recent call last):\n"
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n"
_FRAME = re.compile(r'  File "(?P<file>[^\n]*)", line \d+[^\n]*\n(?:    [^\n]*\n)*')


class WorkerTraceback(Exception):  # noqa: N818 - it is the text of an error
    """The lines of a user's function that failed in a Spark worker, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def full_tracebacks() -> bool:
    """Whether nothing is left out."""
    return os.environ.get("MILLSTREAM_TRACEBACK") == "full"


class ShortTraceback:
    """Errors of Millstream leave this without its own lines, and Ctrl-C shows none at all.

    It is a class because ``contextlib`` would add them again.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, KeyboardInterrupt) and not full_tracebacks():
            _show_one_line_of(error)
        if not isinstance(error, MillstreamError) or full_tracebacks():
            return
        cause = error.__cause__
        if cause is not None:
            cause.__traceback__ = _from_users_line(cause.__traceback__)
        raise error.with_traceback(None) from cause


def _show_one_line_of(interrupt: KeyboardInterrupt) -> None:
    """Makes Python print one line if the program does not catch this interrupt."""
    usual = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        if error is interrupt:
            print("millstream: interrupted", file=sys.stderr)
        else:
            usual(kind, error, traceback)

    sys.excepthook = show


def instead_of(raised: BaseException, error: MillstreamError) -> MillstreamError:
    """The error that explains what Spark raised, which only a full traceback shows."""
    error.__context__ = raised
    error.__suppress_context__ = not full_tracebacks()
    return error


def worker_traceback(text: str) -> WorkerTraceback | None:
    """The user's lines in the text of an error: those of the exception that caused the last one.

    >>> print(worker_traceback(f'''{_BEGINS}  File "{_OURS}/spark/worker/tasks.py", line 8, in call
    ...     task.take(rows)
    ...   File "/home/ann/scores.py", line 5, in parse
    ...     return int(row["points"])
    ... ValueError: invalid literal for int() with base 10: 'x'
    ... {_CAUSED}
    ... {_BEGINS}'''))
    <BLANKLINE>
      File "/home/ann/scores.py", line 5, in parse
        return int(row["points"])
    ValueError: invalid literal for int() with base 10: 'x'
    """
    before, caused, _ = text.rpartition(_CAUSED)
    if not caused:
        return None
    lines = before.rpartition(_BEGINS)[2]
    shown = _FRAME.sub(lambda frame: "" if _OURS in frame["file"] else frame[0], lines)
    return WorkerTraceback(shown.rstrip())


def _from_users_line(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_OURS):
        traceback = traceback.tb_next
    return traceback
