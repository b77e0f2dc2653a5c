"""Every error that Millstream raises on purpose, each with a stable code and a page in the docs.

MillstreamError
├── PlanError     MS1xx  a program that cannot work, raised before it runs (a ValueError)
├── RunError      MS2xx  a failure while running: of a record, a function, Spark, a sink
│   └── KafkaError   MS303 and up  a failure of Kafka: its jars, local brokers, topics, groups
└── TestingError  MS301, MS302  a test script that cannot be read or that failed
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

CODES = {
    "MS101": "an invalid duration",
    "MS102": "an unknown column",
    "MS103": "a wrong type for an aggregate",
    "MS104": "a trigger that may finish and lose data",
    "MS105": "a global window that never ends and never fires",
    "MS106": "an aggregation of an endless stream without window or trigger",
    "MS107": "merging windows where windows cannot merge",
    "MS108": "a name used twice",
    "MS109": "a union of different schemas",
    "MS110": "retractions into an aggregate that cannot undo",
    "MS111": "a schema that cannot be read",
    "MS112": "an expression that cannot be read",
    "MS113": "an argument out of its range",
    "MS114": "an unknown time zone or calendar unit",
    "MS115": "a missing or unusable event time",
    "MS116": "a function whose result has no schema",
    "MS117": "a method called in the wrong place",
    "MS118": "an invalid instant",
    "MS119": "a missing watermark policy",
    "MS120": "a file format that cannot hold the columns",
    "MS121": "a function that cannot be sent to Spark's workers",
    "MS122": "a setting that belongs to the watermark, for windows that it does not end",
    "MS123": "a window that cannot be made",
    "MS124": "an unknown SQL function",
    "MS125": "an expression that Spark does not accept",
    "MS128": "a DStream program on Spark Connect",
    "MS129": "a DStream program that cannot run",
    "MS130": "a processor that cannot run",
    "MS131": "a processor whose rows cannot come all at once",
    "MS132": "a processor whose two forms differ",
    "MS133": "a join of columns with the same name",
    "MS134": "join keys that do not match",
    "MS135": "streams that are windowed in different ways",
    "MS136": "a join that would lose pairs",
    "MS137": "a query that needs more than one row",
    "MS138": "an interval of event time that cannot be",
    "MS142": "a join whose rows cannot meet",
    "MS143": "a join that would wait for ever",
    "MS144": "a join that keeps all rows of endless input",
    "MS145": "a program that reads what it writes",
    "MS201": "a user's function failed",
    "MS202": "a row that does not fit its schema",
    "MS203": "an expression that the reference cannot compute",
    "MS204": "a source without rows",
    "MS205": "a missing Java",
    "MS206": "a Spark session that is not set up",
    "MS207": "a checkpoint of another program",
    "MS208": "a sink that cannot be written",
    "MS209": "a job that is already running",
    "MS210": "a checkpoint that is damaged",
    "MS211": "a checkpoint that cannot be written",
    "MS212": "results that would be written twice",
    "MS213": "a column that no file has",
    "MS214": "a column of another type in a file",
    "MS215": "a path without files",
    "MS216": "a socket without lines",
    "MS217": "a checkpoint with nothing to repair",
    "MS219": "an expression that failed on a row",
    "MS220": "a failure of Spark",
    "MS221": "a JVM that has ended",
    "MS222": "an unsupported version of Spark",
    "MS223": "a process of Spark that keeps dying",
    "MS224": "an incomplete result table",
    "MS225": "a registry of jobs that cannot be used",
    "MS226": "an unknown job",
    "MS227": "a program that cannot be run",
    "MS228": "a job whose state does not allow that",
    "MS229": "a timer that fires without end",
    "MS230": "a table that cannot be looked up in",
    "MS231": "a lookup function that failed",
    "MS233": "a row that is taken back and is not there",
    "MS235": "state that cannot be redistributed",
    "MS236": "metrics that cannot be served",
    "MS237": "an archive for executors that is missing",
    "MS301": "a step or transcript that cannot be read",
    "MS302": "a transcript that failed",
    "MS303": "a missing or wrong jar",
    "MS304": "a port that is in use",
    "MS305": "a data directory that does not fit",
    "MS306": "a local broker that does not start",
    "MS307": "a disk without space for local brokers",
    "MS308": "missing local brokers",
    "MS320": "a Kafka cluster that cannot be reached",
    "MS321": "an unknown topic",
    "MS322": "an unsupported client setting",
    "MS323": "a request that the cluster did not accept",
    "MS324": "an unknown consumer group",
    "MS325": "a consumer group that is in use",
    "MS326": "an invalid line",
    "MS327": "records that did not arrive",
    "MS328": "a right that is missing",
    "MS329": "a secret that cannot be read",
    "MS330": "a console that others could reach",
    "MS331": "an address that the console cannot listen at",
    "MS332": "a request that the console refuses",
    "MS333": "a request that the console cannot read",
    "MS350": "records that were removed before they were read",
    "MS351": "a job that was overtaken by another run of it",
}
"""Each code and its title. Each has a page, ``docs/errors/<code>.md``."""


class MillstreamError(Exception):
    """What happened, in which step, and what to do about it.

    >>> raise PlanError("MS108", "two steps are called 'totals'", fix="give one another name=")
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS108: two steps are called 'totals'
      What to do: give one another name=
      More: millstream help MS108
    """

    def __init__(self, code: str, what: str, *, fix: str, step: str | None = None) -> None:
        assert code in CODES, code
        where = f" in step {step!r}" if step else ""
        super().__init__(
            f"{code}{where}: {what}\n  What to do: {fix}\n  More: millstream help {code}"
        )
        self.code = code
        """Such as ``"MS108"``. It never changes its meaning: programs may depend on it."""
        self.what = what
        """What happened."""
        self.fix = fix
        """What to do about it."""
        self.step = step
        """The name of the step where it happened, where one is known."""

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process boundaries by pickling; keyword arguments would be lost.
        return _rebuild, (type(self), self.code, self.what, self.fix, self.step)


def _rebuild(
    kind: type[MillstreamError], code: str, what: str, fix: str, step: str | None
) -> MillstreamError:
    return kind(code, what, fix=fix, step=step)


class PlanError(MillstreamError, ValueError):
    """A program that cannot work, raised while it is being built."""


class RunError(MillstreamError):
    """A record, a user's function, Spark or a sink that failed at run time."""


class KafkaError(RunError):
    """A failure of Kafka, or of something that a local cluster needs."""


class TestingError(MillstreamError):
    """A script of steps that cannot be read, or whose expected panes were not emitted."""

    __test__ = False  # its name starts with Test, but it is no test


@contextmanager
def in_step(name: str) -> Iterator[None]:
    """Errors inside get the name of the step.

    >>> with in_step("filter-1"):
    ...     raise PlanError("MS112", "'points >' cannot be read", fix="write the rest")
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS112 in step 'filter-1': 'points >' cannot be read
      What to do: write the rest
      More: millstream help MS112
    """
    try:
        yield
    except MillstreamError as error:
        if error.step is not None:
            raise
        raise type(error)(error.code, error.what, fix=error.fix, step=name) from None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or all of them.

    >>> did_you_mean("pionts", ["points", "team"])
    "did you mean 'points'? There are: points, team"
    >>> did_you_mean("altitude", ["points", "team"])
    'use one of: points, team'
    """
    names = list(known)
    close = get_close_matches(word, names, n=1)
    everything = ", ".join(names)
    return (
        f"did you mean {close[0]!r}? There are: {everything}"
        if close
        else f"use one of: {everything}"
    )
