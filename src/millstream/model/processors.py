"""What a user's processor is: the state of a key, its timers, and what happens when.

A processor is the small program that ``process`` runs for each key. Its callbacks get what happened
(a row, a timer, an expiry, the end), the key's state, its timers, and an output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_args

from millstream.model.arguments import one_of
from millstream.model.durations import Duration, format_duration, positive
from millstream.model.instants import END_OF_TIME, START_OF_TIME, Instant
from millstream.model.windows import Interval

TimeDomain = Literal["event_time", "processing_time"]
RowOrder = Literal["arrival", "event_time"]

SLOT, ROW, TIME = "_slot", "_row", "_time"
"""Columns of the tables of ``on_batch``: the number of a key, that of a row, its event time."""
TIMER, TAG = "_timer", "_tag"
"""Columns of the table of ``on_timers``: the name of a timer, and its tag."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimerKind:
    """A timer that a processor declares. Its name is that of the class attribute."""

    domain: TimeDomain

    def __repr__(self) -> str:
        return f"timer({self.domain!r})"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a declared timer has no {name!r}: callbacks get their timers as an argument, "
            "timers.silent.set(after='5m')"
        )


@dataclass(frozen=True)
class TimeToLive:
    """How long state stays after the last row of its key, or a field after its last change."""

    length: int
    domain: TimeDomain = "event_time"

    def __repr__(self) -> str:
        domain = "" if self.domain == "event_time" else f", {self.domain!r}"
        return f"ttl({format_duration(self.length)!r}{domain})"


def timer(domain: TimeDomain) -> Any:
    """Declares a timer of a processor: by ``"event_time"`` or by ``"processing_time"``.

    >>> import millstream as ms
    >>> class Silence(ms.Processor):
    ...     silent = ms.timer("processing_time")
    """
    return TimerKind(one_of(domain, "domain", get_args(TimeDomain)))


def ttl(length: Duration, domain: TimeDomain = "event_time") -> TimeToLive:
    """How long the state of a key stays after its last row, or a field after its last change.

    >>> ttl("30d"), ttl("1h", "processing_time")
    (ttl('30d'), ttl('1h', 'processing_time'))
    """
    domain = one_of(domain, "domain", get_args(TimeDomain))
    return TimeToLive(positive(length, what="ttl"), domain)


def moment(us: int | None) -> datetime | None:
    """An instant as callbacks see it: None where there is none, and at the ends of time."""
    if us is None or not START_OF_TIME < us < END_OF_TIME:
        return None
    try:
        return _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None


class Bounds(NamedTuple):
    """The window of a key's state, from ``start`` up to but not including ``end``."""

    start: datetime | None
    end: datetime | None


class Row(dict[str, Any]):
    """A row that a callback gets: its columns, with its key, event time and window.

    ``key`` has the values of the key by their names.
    """

    __slots__ = ("interval", "key", "micros")

    key: dict[str, Any]
    micros: int | None
    interval: Interval | None

    @property
    def place_in_time(self) -> int:
        """The event time in microseconds; that of a row without one is before all others."""
        return START_OF_TIME if self.micros is None else self.micros

    @property
    def time(self) -> datetime | None:
        """The event time."""
        return moment(self.micros)

    @property
    def window(self) -> Bounds | None:
        """The window that it is in, if there are windows."""
        return _bounds(self.interval)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a key without a row: its time came, or the input ended."""

    key: dict[str, Any]
    micros: int | None = field(repr=False)
    interval: Interval | None = field(repr=False)

    @property
    def time(self) -> datetime | None:
        """When it was to happen: in event time, or by the clock for a timer by the clock."""
        return moment(self.micros)

    @property
    def window(self) -> Bounds | None:
        """The window of the state, if there are windows."""
        return _bounds(self.interval)


def _bounds(interval: Interval | None) -> Bounds | None:
    return None if interval is None else Bounds(moment(interval.start), moment(interval.end))


@dataclass(frozen=True, slots=True)
class Timer(Event):
    """A timer that fires: its name, and the tag that it was set with."""

    name: str
    tag: str


@dataclass(frozen=True, slots=True)
class Expiry(Event):
    """A window, or the time to live of a key, has ended."""


@dataclass(frozen=True, slots=True)
class End(Event):
    """All input has ended."""


class TimerSetting(Protocol):
    """A timer of the key, which a callback sets or clears."""

    def set(
        self,
        *,
        after: Duration | None = None,
        at: Instant | None = None,
        tag: str = "",
        output_time: Instant | None = None,
        hold: bool = True,
    ) -> None:
        """Sets the timer, or replaces it: ``after`` the row or timer that is handled, or ``at``.

        A timer by the clock counts from now. Timers of one name with different tags are different
        timers. ``output_time`` is the event time of what the timer emits; the output watermark
        waits for it, unless ``hold`` is false.
        """

    def clear(self, tag: str = "") -> None:
        """Unsets the timer, if it is set."""

    def time(self, tag: str = "") -> datetime | None:
        """When it fires, if it is set."""


class Timers(Protocol):
    """The timers of a key, one attribute for each that the processor declares."""

    @property
    def now(self) -> datetime:
        """The clock: that of the batch, the same whenever it is repeated."""

    @property
    def watermark(self) -> datetime | None:
        """How far event time has come; None at the beginning and at the end."""

    def __getattr__(self, name: str) -> TimerSetting: ...


class Output(Protocol):
    """Takes the rows that a callback emits."""

    def emit(self, row: Any = None, /, **columns: Any) -> None:
        """Emits a row: its columns by name, or a dict, tuple or dataclass instance."""

    def retract(self, row: Any = None, /, **columns: Any) -> None:
        """Takes back a row that was emitted before; the processor must say ``retracts = True``."""

    def to(self, tag: str, row: Any = None, /) -> Output:
        """The side output of that name; emits the row to it, if one is given."""


class Processor:
    """A program that runs for each key: ``stream.key_by(…).process(MyProcessor, schema=…)``.

    Write ``on_row``, and what else is needed. ``state`` is a dataclass, or a class of fields with
    types and defaults: each key has its own, which is loaded, and saved when it has changed. What a
    processor keeps in ``self`` is lost.

    >>> import millstream as ms
    >>> class Balances(ms.Processor):
    ...     class state:
    ...         balance: int = 0
    ...     def on_row(self, row, state, timers, out):
    ...         state.balance += row["amount"]
    ...         out.emit(account=row["account"], balance=state.balance)
    >>> payments = ms.from_rows(
    ...     [("a", 5), ("b", 1), ("a", 2)], schema="account string, amount int")
    >>> balances = payments.key_by("account").process(
    ...     Balances, schema="account string, balance bigint")
    >>> balances.filter("account = 'a'").collect().run().rows()
    [{'account': 'a', 'balance': 5}, {'account': 'a', 'balance': 7}]
    """

    state: Any = None
    """The class of the state of a key."""
    ttl: TimeToLive | dict[str, TimeToLive] | None = None
    """How long the state of a key stays after its last row; or a dict of this for some fields."""
    takes_retractions: ClassVar[bool] = False
    """Whether it takes rows that retract others: their column ``kind`` is ``"-"``."""
    retracts: ClassVar[bool] = False
    """Whether it takes rows back, with ``out.retract``. Its rows then have a column ``kind``."""

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        """A row has come. A processor without this or ``on_rows`` is an error (MS130)."""

    def on_rows(self, rows: Any, state: Any, timers: Any, out: Any) -> None:
        """Rows of the key have come, in order: a list, instead of one by one in ``on_row``."""
        for row in rows:
            self.on_row(row, state, timers, out)

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        """What ``on_row`` says, for the rows of many keys at once: optional, and much faster.

        ``rows`` is a Polars table of the rows, those of one key together and in order, with the
        number of the row (``_row``), that of its key (``_slot``) and its event time in microseconds
        (``_time``). ``state`` has one row for each key: ``_slot``, the key, and the fields. Returns
        the state with its new columns, or None if nothing changed. ``out.emit(table)``,
        ``out.retract(table)`` and ``out.to("tag").emit(table)`` take tables with the column
        ``_row``: the row that each is emitted for. So do ``timers.name.set(table, after="5m")`` (or
        ``at=`` a column), and ``timers.name.clear(table)``.

        >>> import polars as pl
        >>> import millstream as ms
        >>> class Balances(ms.Processor):
        ...     class state:
        ...         balance: int = 0
        ...     def on_row(self, row, state, timers, out):
        ...         state.balance += row["amount"]
        ...         out.emit(account=row["account"], balance=state.balance)
        ...     def on_batch(self, rows, state, timers, out):
        ...         before = state["balance"].gather(rows["_slot"])
        ...         after = before + pl.col("amount").cum_sum().over("_slot")
        ...         rows = rows.with_columns(balance=after)
        ...         out.emit(rows)
        ...         return rows.group_by("_slot").agg(pl.last("balance"))
        >>> payments = ms.from_rows(
        ...     [("a", 5), ("b", 1), ("a", 2)], schema="account string, amount bigint")
        >>> balances = payments.key_by("account").process(
        ...     Balances, schema="account string, balance bigint")
        >>> balances.filter("account = 'a'").collect().run().rows()
        [{'account': 'a', 'balance': 5}, {'account': 'a', 'balance': 7}]
        """

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        """A timer fires."""

    def on_timers(self, fired: Any, state: Any, timers: Any, out: Any) -> Any:
        """What ``on_timer`` says, for many keys at once; optional, beside ``on_batch``.

        ``fired`` is a Polars table with one timer for each key, the next that fires: the number
        ``_row``, that of its key (``_slot``), the timer's time in microseconds (``_time``), its
        name (``_timer``) and tag (``_tag``), and the key. If several timers of a key fire in a
        step, it runs again for the next one. All else is as in ``on_batch``.

        >>> import polars as pl
        >>> import millstream as ms
        >>> class Visits(ms.Processor):
        ...     ended = ms.timer("event_time")
        ...     class state:
        ...         pages: int = 0
        ...     def on_row(self, row, state, timers, out):
        ...         state.pages += 1
        ...         timers.ended.set(after="30m")
        ...     def on_timer(self, timer, state, timers, out):
        ...         out.emit(user=timer.key["user"], pages=state.pages)
        ...         state.pages = 0
        ...     def on_batch(self, rows, state, timers, out):
        ...         timers.ended.set(rows, after="30m")
        ...         seen = state["pages"].gather(rows["_slot"])
        ...         pages = rows.with_columns(pages=seen + pl.len().over("_slot"))
        ...         return pages.group_by("_slot").agg(pl.last("pages"))
        ...     def on_timers(self, fired, state, timers, out):
        ...         out.emit(fired.with_columns(pages=state["pages"].gather(fired["_slot"])))
        ...         return fired.select("_slot", pages=pl.lit(0))
        >>> clicks = ms.from_rows(
        ...     [("ann", 0), ("ann", 60)], schema="user string, at int", event_time="at")
        >>> visits = clicks.key_by("user").process(Visits, schema="user string, pages bigint")
        >>> visits.collect().run().rows()
        [{'user': 'ann', 'pages': 2}]
        """

    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        """The window, or the time to live of the key, has ended; then its state is removed."""

    def on_end(self, end: Any, state: Any, out: Any) -> None:
        """All input has ended, and the key is still there."""


def overrides(processor: Processor, callback: str) -> bool:
    """Whether a processor has a callback of its own."""
    return getattr(type(processor), callback) is not getattr(Processor, callback)


def timers_of(processor: Processor) -> dict[str, TimeDomain]:
    """The timers that a processor declares, by name, in the order of their names."""
    kind = type(processor)
    found = {name: getattr(kind, name, None) for name in dir(kind)}
    return {name: each.domain for name, each in found.items() if isinstance(each, TimerKind)}
