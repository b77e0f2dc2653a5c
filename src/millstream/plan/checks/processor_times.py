"""MS115, MS119, MS130: what of a processor happens by time, and whether that time ever comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millstream.model.errors import PlanError, did_you_mean
from millstream.model.processors import TimeToLive
from millstream.plan.checks.event_time import check_has_event_time
from millstream.plan.checks.missing_watermark import check_followed
from millstream.plan.nodes import Node

if TYPE_CHECKING:
    from millstream.plan.operators.process import Processing


def check_event_time(input: Node, what: str) -> None:
    """Refuses what is in event time where rows have none, or where nothing moves the watermark."""
    check_has_event_time(input, f"{what} is")
    check_followed(input, f"{what} waits for the watermark")


def check_times(what: Processing, input: Node) -> None:
    """Refuses timers that would never fire, and state that would never expire."""
    _check_times_to_live(what)
    for part in _by_event_time(what):
        check_event_time(input, part)


def _by_event_time(what: Processing) -> Iterator[str]:
    """What of a processor happens by the watermark."""
    for name, domain in what.timers.items():
        if domain == "event_time":
            yield f"the timer {name!r} of {what.name}"
    if any(each is not None and each.domain == "event_time" for each in what.lives):
        yield f"the ttl of {what.name}"


def _check_times_to_live(what: Processing) -> None:
    given = what.processor.ttl
    fields = [] if what.state is None else [field.name for field in what.state.fields]
    if given is None or isinstance(given, TimeToLive):
        return
    if not isinstance(given, dict) or not all(isinstance(t, TimeToLive) for t in given.values()):
        raise PlanError(
            "MS130",
            f"the ttl of {what.name} is {given!r}, which is no time to live",
            fix="write ttl = ms.ttl('30d'), or for a field: ttl = {'visits': ms.ttl('1h')}",
        )
    for name in given:
        if name not in fields:
            raise PlanError(
                "MS130",
                f"{what.name} has a ttl for {name!r}, which is no field of its state",
                fix=did_you_mean(name, fields),
            )
