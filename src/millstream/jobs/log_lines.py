"""A running job in a log: lines for people, and the same values for formatters."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from millstream.reports.progress import Progress

_LINE_EVERY = 1.0  # seconds between two lines of the log, however fast the batches
_QUIET_LINE_EVERY = 30.0  # while batches have no new rows


class LogView:
    """Lines of the log ``millstream.job``: pairs for people, a dict for formatters.

    The lines have totals, so that skipping a line loses nothing.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._logger = logging.getLogger("millstream.job")
        self._shown: Progress | None = None
        self._shown_at = 0.0
        self._own_handler = ExitStack()

    def __enter__(self) -> LogView:
        if not self._logger.hasHandlers():
            self._own_handler.enter_context(lines_on_stderr(self._logger))
        return self

    def __exit__(self, *error: object) -> None:
        self._own_handler.close()

    def show(self, progress: Progress) -> None:
        """Writes a line if something has changed, and enough time has passed."""
        if self._is_due(progress):
            self._shown, self._shown_at = progress, self._clock()
            level = logging.ERROR if progress.state == "failed" else logging.INFO
            self._log(level, progress.to_dict())

    def announce(self, message: str) -> None:
        """Writes a line with a message."""
        self._log(logging.INFO, {"message": message})

    def _is_due(self, progress: Progress) -> bool:
        shown = self._shown
        if shown is None or _urgent(progress) != _urgent(shown):
            return True
        if progress.batches == shown.batches:
            return False
        quiet = progress.rows == shown.rows and progress.written == shown.written
        return self._clock() - self._shown_at >= (_QUIET_LINE_EVERY if quiet else _LINE_EVERY)

    def _log(self, level: int, values: dict[str, Any]) -> None:
        values = {"job": self._name, **values}
        self._logger.log(level, "%s", _pairs(values), extra={"millstream": values})


def _urgent(progress: Progress) -> tuple[object, ...]:
    """Values that are logged as soon as they change."""
    return progress.state, progress.restarts, progress.late_by_step, progress.rejected_by_step


def _pairs(values: Mapping[str, Any]) -> str:
    """Values as ``key=value``, without empty ones."""
    texts = {key: _text(value) for key, value in values.items()}
    return " ".join(f"{key}={_quoted(text)}" for key, text in texts.items() if text)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{count}" for name, count in value.items() if count)
    return "" if value is None or isinstance(value, list) else str(value)


def _quoted(text: str) -> str:
    plain = not any(sign.isspace() or sign in '"=' for sign in text)
    return text if plain else json.dumps(text, ensure_ascii=False)


@contextmanager
def lines_on_stderr(logger: logging.Logger) -> Iterator[None]:
    """Shows the lines of a log that has no handlers, for as long as the block runs.

    A level that the program has set is kept.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    before = logger.level
    chosen = logger.level or logging.getLogger("millstream").level
    logger.addHandler(handler)
    logger.setLevel(chosen or logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
