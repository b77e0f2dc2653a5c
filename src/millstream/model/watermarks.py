"""Watermark policies: how the watermark of a source follows the event times of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, get_args

from millstream.model.arguments import one_of
from millstream.model.durations import Duration, format_duration, not_negative, positive
from millstream.model.errors import PlanError
from millstream.model.instants import END_OF_TIME

OnAhead = Literal["keep", "reject"]
"""What happens to a row whose time is too far ahead of the clock."""

DEFAULT_AHEAD = 86_400_000_000
"""One day: how far ahead of the clock the times of an endless source may be."""


class NotGiven(Enum):
    """An argument that was not given, where None means something else."""

    NOT_GIVEN = "not given"


NOT_GIVEN = NotGiven.NOT_GIVEN


@dataclass(frozen=True, slots=True)
class Silence:
    """What the silence of an origin's splits means.

    A split is idle after ``idle``, never if that is None. While all are idle, the watermark follows
    the clock at the distance ``behind``, unless that is None.
    """

    idle: int | None = None
    behind: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkPolicy:
    """How each split of a source derives its watermark.

    A split that is silent for ``idle`` does not count. A time that is more than ``ahead`` after the
    clock does not move the watermark.
    """

    idle: int | None = None
    ahead: int | NotGiven | None = NOT_GIVEN
    on_ahead: OnAhead = "keep"

    @property
    def silence(self) -> Silence:
        """What it means when splits are silent."""
        return Silence(self.idle)

    def allowed_ahead(self, endless: bool) -> int | None:
        """How far ahead of the clock a time may be that moves the watermark; None: any.

        >>> ascending().allowed_ahead(endless=True), ascending().allowed_ahead(endless=False)
        (86400000000, None)
        """
        if isinstance(self.ahead, NotGiven):
            return DEFAULT_AHEAD if endless or self.on_ahead == "reject" else None
        return self.ahead


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Bounded(WatermarkPolicy):
    """Events are at most ``disorder`` out of order."""

    disorder: int
    then: Literal["clock"] | None = None

    @property
    def silence(self) -> Silence:
        """What it means when splits are silent."""
        return Silence(self.idle, None if self.then is None else self.disorder)

    def __repr__(self) -> str:
        then = "" if self.then is None else f", then={self.then!r}"
        return f"bounded({format_duration(self.disorder)!r}{_idle(self)}{then}{_ahead(self)})"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Ascending(WatermarkPolicy):
    """Events of a split arrive in the order of their times."""

    def __repr__(self) -> str:
        return f"ascending({(_idle(self) + _ahead(self)).removeprefix(', ')})"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Punctuated(WatermarkPolicy):
    """Some events have the watermark in a column; the others have null there."""

    column: str

    def __repr__(self) -> str:
        return f"punctuated({self.column!r}{_idle(self)}{_ahead(self)})"


def bounded(
    disorder: Duration,
    idle: Duration | None = None,
    then: Literal["clock"] | None = None,
    ahead: Duration | NotGiven | None = NOT_GIVEN,
    on_ahead: OnAhead = "keep",
) -> Bounded:
    """The watermark follows the newest event at a distance of ``disorder``.

    A split that has been silent for ``idle`` does not hold the watermark. Choose it longer than the
    normal pauses of a split: rows that a split sends after a longer pause may be late. With
    ``then="clock"`` the watermark follows the clock, at the same distance, while all splits are
    idle: so the last windows of a silent stream end, too.

    Events dated more than ``ahead`` after the clock do not move the watermark: by default one day
    for endless sources; for bounded ones, or with None, any time moves it. Such rows are counted
    and reach their windows, unless ``on_ahead="reject"`` sends them to ``rejected``.

    >>> bounded("30s", idle="1m")
    bounded('30s', idle='1m')
    >>> bounded("30s", idle="1m", then="clock", ahead="1h", on_ahead="reject")
    bounded('30s', idle='1m', then='clock', ahead='1h', on_ahead='reject')
    """
    one_of(then, "then", (None, "clock"))
    if then is not None and idle is None:
        raise PlanError(
            "MS113",
            "then='clock' says what happens when all splits are idle, but without idle= none is",
            fix="say after how long a silent split is idle: idle='1m'",
        )
    return Bounded(
        idle=_checked_idle(idle),
        ahead=_checked_ahead(ahead, on_ahead),
        on_ahead=on_ahead,
        disorder=not_negative(disorder, what="disorder"),
        then=then,
    )


def ascending(
    idle: Duration | None = None,
    ahead: Duration | NotGiven | None = NOT_GIVEN,
    on_ahead: OnAhead = "keep",
) -> Ascending:
    """The watermark is the newest event's time: each split is in order.

    ``idle``, ``ahead`` and ``on_ahead`` are those of ``bounded``.

    >>> ascending()
    ascending()
    """
    checked = _checked_ahead(ahead, on_ahead)
    return Ascending(idle=_checked_idle(idle), ahead=checked, on_ahead=on_ahead)


def punctuated(
    column: str,
    idle: Duration | None = None,
    ahead: Duration | NotGiven | None = NOT_GIVEN,
    on_ahead: OnAhead = "keep",
) -> Punctuated:
    """The watermark is the newest non-null value of ``column``.

    ``idle``, ``ahead`` and ``on_ahead`` are those of ``bounded``; the values of ``column`` must not
    be too far ahead of the clock.

    >>> punctuated("complete_until")
    punctuated('complete_until')
    """
    checked = _checked_ahead(ahead, on_ahead)
    return Punctuated(idle=_checked_idle(idle), ahead=checked, on_ahead=on_ahead, column=column)


def latest_time(clock: int, ahead: int) -> int:
    """The last time that is not too far ahead of a clock."""
    return min(clock + ahead, END_OF_TIME)


def why_ahead(policy: WatermarkPolicy, column: str, ahead: int) -> str:
    """Why a row is rejected whose time, in ``column`` or in that of the policy, is too far ahead.

    >>> why_ahead(bounded("30s"), "at", DEFAULT_AHEAD)
    "event time 'at': it is more than 1d ahead of the clock"
    """
    what = f"event time {column!r}"
    if isinstance(policy, Punctuated):
        what = f"watermark {policy.column!r}"
    return f"{what}: it is more than {format_duration(ahead)} ahead of the clock"


def _checked_idle(idle: Duration | None) -> int | None:
    return None if idle is None else positive(idle, what="idle")


def _checked_ahead(ahead: Duration | NotGiven | None, on_ahead: OnAhead) -> int | NotGiven | None:
    one_of(on_ahead, "on_ahead", get_args(OnAhead))
    if ahead is None and on_ahead == "reject":
        raise PlanError(
            "MS113",
            "on_ahead='reject' rejects nothing, since ahead=None lets event times be anything",
            fix="say how far ahead of the clock they may be: ahead='1d'",
        )
    if ahead is None or isinstance(ahead, NotGiven):
        return ahead
    return not_negative(ahead, what="ahead")


def _idle(policy: WatermarkPolicy) -> str:
    return "" if policy.idle is None else f", idle={format_duration(policy.idle)!r}"


def _ahead(policy: WatermarkPolicy) -> str:
    ahead_text = ""
    if not isinstance(policy.ahead, NotGiven):
        ahead = None if policy.ahead is None else format_duration(policy.ahead)
        ahead_text = f", ahead={ahead!r}"
    if policy.on_ahead == "keep":
        return ahead_text
    return f"{ahead_text}, on_ahead={policy.on_ahead!r}"
