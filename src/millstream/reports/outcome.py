"""What ended a job, if that was an error, and whether the program has seen it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from millstream.model.errors import MillstreamError
from millstream.reports.tracebacks import ShortTraceback

_MOST_LINES = 30

log = logging.getLogger("millstream.job")


class Outcome:
    """The error of a job. It is raised in a thread that waits for the job, or else it is logged.

    The job's own thread calls ``fail``; any thread may call the rest.

    >>> outcome = Outcome("totals")
    >>> with outcome.awaited():
    ...     outcome.fail(ValueError("no such team"))
    ...     outcome.check()
    Traceback (most recent call last):
        ...
    ValueError: no such team
    >>> outcome.unseen
    False
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self._awaited = 0
        self._seen = False
        self.error: BaseException | None = None

    @property
    def unseen(self) -> bool:
        """Whether there is an error that was never raised to the program."""
        return self.error is not None and not self._seen

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Surrounds a wait for the job, after which ``check`` is called."""
        self._awaited += 1
        try:
            yield
        finally:
            self._awaited -= 1

    def fail(self, error: BaseException) -> None:
        """Stores the error; logs it unless a thread waits for the job, where it is raised."""
        self.error = error
        if not self._awaited:
            text = error_text(error)
            values = {"job": self._job, "state": "failed", "error": text}
            log.error("job %r failed: %s", self._job, text, extra={"millstream": values})

    def check(self) -> None:
        """Raises the error, if there is one."""
        if self.error is not None:
            self._seen = True
            with ShortTraceback():
                raise self.error


def error_text(error: BaseException) -> str:
    """An error for people: its message, and its class if the message has no code.

    >>> error_text(KeyError("team"))
    "KeyError: 'team'"
    """
    text = str(error) if isinstance(error, MillstreamError) else f"{type(error).__name__}: {error}"
    lines = text.splitlines()
    return "\n".join([*lines[:_MOST_LINES], "…"] if len(lines) > _MOST_LINES else lines)


def first_line(error: BaseException | None) -> str:
    """The first line of an error's text."""
    return error_text(error).partition("\n")[0] if error is not None else ""
