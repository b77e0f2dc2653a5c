"""MS131: a processor with ``on_batch``, whose rows come before all else that happens to a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from millstream.model.errors import PlanError
from millstream.model.processors import ROW, SLOT, TAG, TIME, TIMER, overrides

if TYPE_CHECKING:
    from millstream.plan.operators.process import Processing

_OWN = (SLOT, ROW, TIME, TIMER, TAG, "_start", "_end")


def check_on_batch(what: Processing, columns: Sequence[str]) -> None:
    """Refuses what ``on_batch`` and ``on_timers`` cannot do as ``on_row`` and ``on_timer`` do."""
    if overrides(what.processor, "on_timers"):
        for lacking in ("on_batch", "on_timer"):
            if not overrides(what.processor, lacking):
                raise PlanError(
                    "MS131",
                    f"on_timers of {what.name} cannot run: there is no {lacking}",
                    fix=f"write {lacking}, too, or leave out on_timers",
                )
    if not what.by_batch:
        return
    for why, fix in _reasons(what, columns):
        raise PlanError("MS131", f"on_batch of {what.name} cannot run: {why}", fix=fix)


def _reasons(what: Processing, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    fields = () if what.state is None else what.state.fields
    if what.times_of_fields:
        yield "a field with a ttl may expire between two rows", "leave out on_batch, or that ttl"
    if what.order == "event_time" and (what.timers or what.time_to_live is not None):
        among = "in the order of event time, timers and expiries are among the rows"
        yield among, "leave out on_batch, or take the rows as they arrive: order='arrival'"
    for field in fields:
        if field.is_set:
            yield (
                f"the field {field.name!r} of its state is a set",
                "use a list, or leave out on_batch",
            )
        if field.name in what.keys:
            both = f"the field {field.name!r} of its state has the name of a key"
            yield both, "give the field another name"
    outputs = (name for schema in what.outputs.values() for name in schema.names)
    for name in (*columns, *what.keys, *(field.name for field in fields), *outputs):
        if name in _OWN:
            own = f"the column {name!r} has the name of one that its tables have"
            yield own, "give it another name"
