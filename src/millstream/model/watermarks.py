"""How far event time has come: the ways in which a source tells its watermark."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model.durations import Duration, format_duration, not_negative, positive


@dataclass(frozen=True, slots=True)
class WatermarkPolicy:
    """How each split of a source derives its watermark. ``idle`` lets a silent split step aside."""

    idle: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Bounded(WatermarkPolicy):
    """Events come at most ``disorder`` after newer ones."""

    disorder: int

    def __repr__(self) -> str:
        return f"bounded({format_duration(self.disorder)!r}{_idle(self.idle)})"


@dataclass(frozen=True, slots=True, repr=False)
class Ascending(WatermarkPolicy):
    """Events of a split come in the order of their times."""

    def __repr__(self) -> str:
        return f"ascending({_idle(self.idle).removeprefix(', ')})"


@dataclass(frozen=True, slots=True, repr=False)
class Punctuated(WatermarkPolicy):
    """Some events carry the watermark in a column; the others have null there."""

    column: str

    def __repr__(self) -> str:
        return f"punctuated({self.column!r}{_idle(self.idle)})"


def bounded(disorder: Duration, idle: Duration | None = None) -> Bounded:
    """The watermark follows the newest event at a distance of ``disorder``.

    >>> bounded("30s", idle="1m")
    bounded('30s', idle='1m')
    """
    return Bounded(_checked_idle(idle), not_negative(disorder, what="disorder"))


def ascending(idle: Duration | None = None) -> Ascending:
    """The watermark is the newest event's time: each split is in order.

    >>> ascending()
    ascending()
    """
    return Ascending(_checked_idle(idle))


def punctuated(column: str, idle: Duration | None = None) -> Punctuated:
    """The watermark is what the newest non-null value of ``column`` says.

    >>> punctuated("complete_until")
    punctuated('complete_until')
    """
    return Punctuated(_checked_idle(idle), column)


def _checked_idle(idle: Duration | None) -> int | None:
    return None if idle is None else positive(idle, what="idle")


def _idle(idle: int | None) -> str:
    return "" if idle is None else f", idle={format_duration(idle)!r}"
