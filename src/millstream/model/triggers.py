"""When in processing time results are emitted: triggers, a small algebra."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model.durations import Duration, format_duration, microseconds, positive
from millstream.model.errors import PlanError


@dataclass(frozen=True, slots=True)
class Trigger:
    """Decides, for each key and window, when a pane of results is emitted."""

    def or_finally(self, until: Trigger) -> OrFinally:
        """Fires whenever either trigger is ready, and finishes when either has finished.

        When ``until`` is ready it fires instead of this one, which restarts. So ``until``
        normally is one that finishes, such as ``at_watermark()`` or ``after_count(n)``.

        >>> repeatedly(after_count(100)).or_finally(at_watermark())
        repeatedly(after_count(100)).or_finally(at_watermark())
        """
        return OrFinally(self, _trigger(until, "or_finally"))


@dataclass(frozen=True, slots=True, repr=False)
class AtWatermark(Trigger):
    """Fires when the watermark passes the window's end; ``early`` before it, ``late`` after."""

    early: Trigger | None
    late: Trigger | None

    def __repr__(self) -> str:
        parts = [f"{n}={t!r}" for n, t in (("early", self.early), ("late", self.late)) if t]
        return f"at_watermark({', '.join(parts)})"


@dataclass(frozen=True, slots=True, repr=False)
class AfterCount(Trigger):
    """Fires once the pane has at least ``count`` elements, then finishes."""

    count: int

    def __repr__(self) -> str:
        return f"after_count({self.count})"


@dataclass(frozen=True, slots=True, repr=False)
class AfterDelay(Trigger):
    """Fires when the clock is later than the pane's first element plus ``delay``, then finishes."""

    delay: int

    def __repr__(self) -> str:
        return f"after_delay({format_duration(self.delay)!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Every(Trigger):
    """Fires when the clock is later than the next multiple of ``period``, then finishes."""

    period: int
    offset: int

    def __repr__(self) -> str:
        offset = f", offset={format_duration(self.offset)!r}" if self.offset else ""
        return f"every({format_duration(self.period)!r}{offset})"


@dataclass(frozen=True, slots=True, repr=False)
class Repeatedly(Trigger):
    """Starts its part again whenever that has finished; never finishes itself."""

    part: Trigger

    def __repr__(self) -> str:
        return f"repeatedly({self.part!r})"


@dataclass(frozen=True, slots=True, repr=False)
class FirstOf(Trigger):
    """Fires with the first of its parts, then finishes."""

    parts: tuple[Trigger, ...]

    def __repr__(self) -> str:
        return f"first_of({', '.join(map(repr, self.parts))})"


@dataclass(frozen=True, slots=True, repr=False)
class AllOf(Trigger):
    """Fires when all of its parts are ready, then finishes."""

    parts: tuple[Trigger, ...]

    def __repr__(self) -> str:
        return f"all_of({', '.join(map(repr, self.parts))})"


@dataclass(frozen=True, slots=True, repr=False)
class InOrder(Trigger):
    """Runs its parts one after the other; finishes with the last."""

    parts: tuple[Trigger, ...]

    def __repr__(self) -> str:
        return f"in_order({', '.join(map(repr, self.parts))})"


@dataclass(frozen=True, slots=True, repr=False)
class OrFinally(Trigger):
    """Fires with ``main`` until ``until`` is ready."""

    main: Trigger
    until: Trigger

    def __repr__(self) -> str:
        return f"{self.main!r}.or_finally({self.until!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Never(Trigger):
    """Never fires: the content of a window is emitted when the window expires."""

    def __repr__(self) -> str:
        return "never()"


def at_watermark(early: Trigger | None = None, late: Trigger | None = None) -> AtWatermark:
    """Fires when the watermark passes the end of the window.

    ``early`` fires repeatedly before that, ``late`` after it; both restart at each firing. Without
    ``late`` the window is closed at its end.

    >>> at_watermark(early=every("1m"), late=after_count(1))
    at_watermark(early=every('1m'), late=after_count(1))
    """
    return AtWatermark(
        None if early is None else _trigger(early, "at_watermark(early=…)"),
        None if late is None else _trigger(late, "at_watermark(late=…)"),
    )


def after_count(n: int) -> AfterCount:
    """Fires once at least ``n`` elements have arrived since the last firing.

    >>> repeatedly(after_count(1000))
    repeatedly(after_count(1000))
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise PlanError(
            "MS113",
            f"after_count({n!r}): the count must be a whole number, 1 or more",
            fix="give one, such as ms.after_count(100)",
        )
    return AfterCount(n)


def after_delay(duration: Duration) -> AfterDelay:
    """Fires when ``duration`` of processing time has passed since the pane's first element.

    >>> repeatedly(after_delay("30s"))
    repeatedly(after_delay('30s'))
    """
    return AfterDelay(positive(duration, what="delay"))


def every(period: Duration, offset: Duration = 0) -> Every:
    """Fires when the clock passes the next multiple of ``period`` (plus ``offset``).

    Like ``after_delay`` it waits for a first element and fires once: wrap it in ``repeatedly``,
    or give it to ``at_watermark`` as ``early`` or ``late``.

    >>> at_watermark(early=every("1m"))
    at_watermark(early=every('1m'))
    """
    step = positive(period, what="period")
    return Every(step, microseconds(offset, what="offset") % step)


def repeatedly(trigger: Trigger) -> Repeatedly:
    """Fires whenever ``trigger`` does, for as long as the window lives.

    >>> repeatedly(first_of(after_count(100), after_delay("1m")))
    repeatedly(first_of(after_count(100), after_delay('1m')))
    """
    return Repeatedly(_trigger(trigger, "repeatedly"))


def first_of(*triggers: Trigger) -> FirstOf:
    """Fires once, as soon as any of ``triggers`` is ready.

    >>> first_of(after_count(100), after_delay("1m"))
    first_of(after_count(100), after_delay('1m'))
    """
    return FirstOf(_parts(triggers, "first_of"))


def all_of(*triggers: Trigger) -> AllOf:
    """Fires once, when all of ``triggers`` are ready.

    >>> all_of(after_count(100), after_delay("1m"))
    all_of(after_count(100), after_delay('1m'))
    """
    return AllOf(_parts(triggers, "all_of"))


def in_order(*triggers: Trigger) -> InOrder:
    """Runs ``triggers`` one after the other, each until it finishes.

    >>> in_order(after_count(1), repeatedly(after_count(100)))
    in_order(after_count(1), repeatedly(after_count(100)))
    """
    return InOrder(_parts(triggers, "in_order"))


def never() -> Never:
    """Never fires: results are emitted only when the window expires.

    >>> never()
    never()
    """
    return Never()


DEFAULT_TRIGGER = Repeatedly(AtWatermark(early=None, late=None))
"""A pane when the watermark passes the window's end, then one for each bundle of late data."""


def _trigger(value: object, where: str) -> Trigger:
    if not isinstance(value, Trigger):
        raise PlanError(
            "MS113",
            f"{where} takes a trigger, not {value!r}",
            fix="give a trigger, such as ms.after_count(100) or ms.at_watermark()",
        )
    return value


def _parts(values: tuple[Trigger, ...], where: str) -> tuple[Trigger, ...]:
    if not values:
        raise PlanError("MS113", f"{where}() has no triggers", fix="give it at least one")
    return tuple(_trigger(v, where) for v in values)
