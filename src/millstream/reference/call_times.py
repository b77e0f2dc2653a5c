"""How long the callbacks of a processor take, for the progress of its job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class CallTime(NamedTuple):
    """The seconds that a callback took in a step, those of its longest turn, and whose that was."""

    total: float
    longest: float
    key: dict[str, Any]


class CallTimes:
    """The times of a step, if whoever runs the callbacks gives a clock: nothing here has one."""

    def __init__(self) -> None:
        self._clock: Callable[[], float] | None = None
        self.taken: dict[str, CallTime] = {}
        """By the names of callbacks."""

    def begin(self, clock: Callable[[], float]) -> None:
        """A step begins."""
        self._clock, self.taken = clock, {}

    def now(self) -> float:
        """The seconds of the clock."""
        return 0.0 if self._clock is None else self._clock()

    def add(self, callback: str, began: float, key: dict[str, Any]) -> None:
        """A callback has ended."""
        if self._clock is None:
            return
        seconds = self._clock() - began
        known = self.taken.get(callback, CallTime(0.0, -1.0, key))
        longest, whose = max((known.longest, known.key), (seconds, key), key=lambda each: each[0])
        self.taken[callback] = CallTime(known.total + seconds, longest, whose)

    def timed(
        self, callback: str, key: dict[str, Any], call: Callable[[], None]
    ) -> Callable[[], None]:
        """A call that is added when it ends."""
        if self._clock is None:
            return call

        def run() -> None:
            began = self.now()
            call()
            self.add(callback, began, key)

        return run
