"""When a query that has failed is started again: after the loss of a process, and nothing else.

Spark itself retries a task only on a cluster. On one machine a Python worker that dies, for want of
memory perhaps, ends the query; but the checkpoint has all that is needed to continue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from millstream.model.amounts import counted
from millstream.model.errors import MillstreamError, RunError
from millstream.plan.build.functions import user_functions
from millstream.plan.nodes import Node
from millstream.reports.tracebacks import full_tracebacks
from millstream.spark.compat.messages import LOSSES

WITHIN = 600.0
"""So many seconds a restart counts."""
_LONGEST_PAUSE = 30.0


def loss_of(error: BaseException) -> str | None:
    """What was lost, if the error is a loss that a restart can cure."""
    if isinstance(error, MillstreamError):
        return None
    text = str(error)
    return next((loss for sign, loss in LOSSES.items() if sign in text), None)


class Restarts:
    """Counts the restarts of a query, and says how long to wait before the next.

    >>> restarts = Restarts(limit=2, clock=lambda: 0.0)
    >>> restarts.pause(), restarts.pause(), restarts.pause()
    (1.0, 2.0, None)
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._times: list[float] = []

    @property
    def count(self) -> int:
        """How many there were lately."""
        return len(self._times)

    def pause(self) -> float | None:
        """Counts a restart: the seconds to wait before it. None if there were too many."""
        now = self._clock()
        self._times = [each for each in self._times if now - each < WITHIN]
        if self.count >= self.limit:
            return None
        self._times.append(now)
        return float(min(2 ** (self.count - 1), _LONGEST_PAUSE))


@contextmanager
def never_restarted(sinks: Iterable[Node]) -> Iterator[None]:
    """MS223: a process of Spark has died in a batch, which has no checkpoint to resume from."""
    try:
        yield
    except Exception as error:  # Spark has many classes for the loss of a process
        loss = loss_of(error)
        if loss is None:
            raise
        raise keeps_dying(loss, 0, sinks) from error if full_tracebacks() else None


def keeps_dying(loss: str, restarts: int, sinks: Iterable[Node]) -> RunError:
    """The error of a job that has lost a process too often."""
    after = f", after {counted(restarts, 'restart')}" if restarts else ""
    steps = _steps_with_functions(sinks)
    where = (
        f"functions of yours run there, in {', '.join(map(repr, steps))}"
        if steps
        else "no function of yours runs there"
    )
    return RunError(
        "MS223",
        f"{loss}{after}; {where}",
        fix="see what ends the process: too little memory (the system's log says so), a library "
        "that crashes, or os._exit(). Then run the job again: with a checkpoint it resumes",
        step=steps[0] if len(steps) == 1 else None,
    )


def _steps_with_functions(sinks: Iterable[Node]) -> list[str]:
    """The steps in which Python workers call functions of the user, each once."""
    return list(dict.fromkeys(each.step for each in user_functions(*sinks)))
