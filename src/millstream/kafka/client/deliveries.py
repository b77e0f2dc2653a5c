"""Which records have arrived, and which have not, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import groupby

from confluent_kafka import KafkaError as Failure
from confluent_kafka import Message

from millstream.model.amounts import counted
from millstream.model.errors import KafkaError

_REPORTED = 10  # failures that are reported one by one


class Deliveries:
    """Counts the records that have arrived, and keeps the lines of those that have not.

    The first failures are reported when they happen, so that a user need not wait for the end.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.arrived = 0
        self.failed = 0
        self._lines: dict[str, list[int]] = defaultdict(list)
        self._say = say

    @property
    def failures(self) -> dict[str, list[tuple[int, int]]]:
        """Each reason, with the first and last line of each run of lines that failed for it.

        >>> deliveries = Deliveries()
        >>> for line in (7, 2, 8, 9):
        ...     deliveries.add(line, Failure(Failure.MSG_SIZE_TOO_LARGE))
        >>> deliveries.failures
        {'Broker: Message size too large': [(2, 2), (7, 9)]}
        """
        return {reason: _runs(lines) for reason, lines in self._lines.items()}

    def add(self, line: int, failure: Failure | None, _message: Message | None = None) -> None:
        """Adds the outcome for the record in a line."""
        if failure is None:
            self.arrived += 1
            return
        self.failed += 1
        self._lines[failure.str()].append(line)
        if self.failed <= _REPORTED:
            self._say(f"line {line} did not arrive: {failure.str()}")

    def check(self) -> None:
        """MS327 if records did not arrive.

        >>> deliveries = Deliveries()
        >>> deliveries.add(1, None)
        >>> deliveries.check()
        """
        if self.failed:
            of = f"{self.failed:,} of {counted(self.failed + self.arrived, 'record')}"
            reasons = [_reason_text(reason, lines) for reason, lines in self.failures.items()]
            raise KafkaError(
                "MS327",
                f"{of} did not arrive: {'; '.join(reasons)}",
                fix="fix the cause, then produce these lines again",
            )


def _runs(lines: Iterable[int]) -> list[tuple[int, int]]:
    # In a run, a line and its index differ by a constant.
    rows = groupby(enumerate(sorted(lines)), lambda each: each[1] - each[0])
    return [(row[0][1], row[-1][1]) for row in (list(row) for _, row in rows)]


def _reason_text(reason: str, lines: list[tuple[int, int]]) -> str:
    named = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in lines)
    return f"{'line' if named.isdecimal() else 'lines'} {named} ({reason})"
