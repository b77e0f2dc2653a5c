"""Waiting in tests: for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object]) -> None:
    """Waits until it holds; a minute without it is a failure."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
