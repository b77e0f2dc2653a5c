"""Runs a grouping, a transcript or a whole pipeline through a script of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from millstream.model.durations import Duration
from millstream.model.errors import TestingError, did_you_mean
from millstream.model.refinements import Refinement
from millstream.model.script import Step, checked_steps
from millstream.model.triggers import Trigger
from millstream.model.windowing import checked_windowing
from millstream.model.windows import Window
from millstream.stream import Stream
from millstream.testing.engines import run_steps, run_stream
from millstream.testing.groupings import Summary
from millstream.testing.panes import Panes, Rows
from millstream.testing.transcripts import Transcript, load


class Settings(TypedDict, total=False):
    """When, how, and the options of a grouping, as in a pipeline."""

    trigger: Trigger | None
    refine: Refinement
    allowed_lateness: Duration
    on_time: Literal["always", "if_changed"]
    closing: Literal["if_changed", "always"]
    timestamp: Literal["end", "earliest", "latest"]
    allow_data_loss: bool


@overload
def replay(
    what: Stream,
    *,
    steps: Iterable[Step],
    engine: str = ...,
    policies: bool = ...,
) -> Any: ...
@overload
def replay(
    what: str | Path | None = None,
    *,
    window: Window | None = ...,
    steps: Iterable[Step] | None = ...,
    aggregate: Summary = ...,
    engine: str = ...,
    name: str | None = ...,
    **settings: Unpack[Settings],
) -> Panes: ...
def replay(
    what: Stream | str | Path | None = None,
    *,
    window: Window | None = None,
    steps: Iterable[Step] | None = None,
    aggregate: Summary = None,
    engine: str = "reference",
    name: str | None = None,
    policies: bool = False,
    **settings: Unpack[Settings],
) -> Panes | Rows:
    """The panes that a grouping emits, step by step; late elements are in the result's ``late``.

    Without ``what``, the grouping has this ``window`` and the settings ``trigger``, ``refine``,
    ``allowed_lateness``, ``on_time``, ``closing``, ``timestamp`` and ``allow_data_loss``, as in a
    pipeline. ``aggregate`` computes a value for each pane instead of the list of its elements: an
    aggregate of the column ``value`` such as ``ms.sum("value")``, or any function of a list.

    A trigger that can finish before the window's end is an error unless ``allow_data_loss`` is
    true. One that closes the window at its end is replayed even if lateness is allowed, so that
    you can see in ``late`` what it costs; in a pipeline it is an error.

    >>> import millstream as ms
    >>> from millstream.testing import Elements, ProcessingTime, Watermark, replay
    >>> panes = replay(
    ...     window=ms.fixed(10), trigger=ms.at_watermark(early=ms.after_count(2)),
    ...     refine=ms.accumulating, allowed_lateness=5,
    ...     steps=[Elements([("k", 1, 3.0), ("k", 2, 7.5)]), Watermark(10), Watermark.end()],
    ... )
    >>> panes[0]
    Pane(key='k', window=(0.0, 10.0), values=(1, 2), timing='EARLY', index=0, first=True, \
last=False, kind='+', step=0)
    >>> [(pane.timing, pane.values) for pane in panes]
    [('EARLY', (1, 2)), ('ON_TIME', (1, 2))]

    ``what`` is a stream that ``aggregate()`` returned, whose sources get the rows of the replay
    steps:

    >>> from millstream.testing import test_stream
    >>> clicks = test_stream("user string, at double", event_time="at")
    >>> per_user = clicks.key_by("user").window(ms.session(10)).aggregate(n=ms.count())
    >>> rows = [{"user": "ann", "at": 1.0}, {"user": "ann", "at": 8.0}]
    >>> panes = replay(per_user, steps=[Elements(rows), Watermark(30)])
    >>> [(pane.key, pane.window, pane.value) for pane in panes]
    [('ann', (1.0, 18.0), 2)]

    With ``policies`` its watermark policies move the watermarks, as in a job: by the rows, each
    source being one split, and by the clock if they have ``idle``, ``then`` or ``ahead``.

    >>> clicks = test_stream("user string, at double", event_time="at", watermark=ms.bounded(5))
    >>> per_user = clicks.key_by("user").window(ms.fixed(10)).aggregate(n=ms.count())
    >>> late = [{"user": "bob", "at": 15.0}]
    >>> panes = replay(per_user, steps=[Elements(rows), Elements(late)], policies=True)
    >>> [(pane.key, pane.step) for pane in panes]
    [('ann', 1)]

    Of any other stream the result has the rows, with their event times and steps; those of side
    outputs are in ``outputs``:

    >>> class Silent(ms.Processor):
    ...     silent = ms.timer("processing_time")
    ...     def on_row(self, row, state, timers, out):
    ...         timers.silent.set(after="5m")
    ...     def on_timer(self, fired, state, timers, out):
    ...         out.emit(user=fired.key["user"])
    >>> silent = clicks.key_by("user").process(Silent, schema="user string")
    >>> replay(silent, steps=[Elements(rows), ProcessingTime(299), ProcessingTime(300)])
    [ReplayedRow(values={'user': 'ann'}, time=8.0, step=2, kind='+')]

    ``what`` may be the path of a transcript; ``name`` selects one of several in the file.
    """
    for setting in settings:
        if setting not in Settings.__annotations__:
            raise TestingError(
                "MS301",
                f"replay() has no argument {setting!r}",
                fix=did_you_mean(setting, Settings.__annotations__),
            )
    if isinstance(what, Stream):
        _forbid("a pipeline", {"window": window, "aggregate": aggregate, "name": name, **settings})
        return run_stream(what.node, _given(steps), engine, policies)
    if policies:
        raise TestingError(
            "MS301",
            "policies=True is for a stream: nothing else has watermark policies",
            fix="leave it out, and move the watermark with Watermark(…)",
        )
    if what is not None:
        if not isinstance(what, str | Path):
            raise TestingError(
                "MS301",
                f"replay() takes a stream or the path of a transcript, not {what!r}",
                fix="give the stream that aggregate() or group() returned",
            )
        _forbid(
            "a transcript", {"window": window, "aggregate": aggregate, "steps": steps} | settings
        )
        return _only(load(what), name, str(what)).replay(engine)
    _forbid("a window and steps", {"name": name})
    if window is None:
        raise TestingError("MS301", "replay() has no window", fix="add window=ms.fixed(10)")
    return run_steps(checked_windowing(window, **settings), _given(steps), aggregate, engine)


def _forbid(what: str, given: Mapping[str, Any]) -> None:
    for argument, value in given.items():
        if value is not None:
            raise TestingError(
                "MS301",
                f"replay() of {what} takes no {argument}=",
                fix=f"leave {argument}= out",
            )


def _given(steps: Iterable[Step] | None) -> list[Step]:
    if steps is None:
        raise TestingError(
            "MS301", "replay() has no steps", fix="give steps=[Elements([…]), Watermark.end()]"
        )
    return checked_steps(steps)


def _only(transcripts: list[Transcript], name: str | None, file: str) -> Transcript:
    chosen = [t for t in transcripts if name is None or t.name == name]
    if len(chosen) == 1:
        return chosen[0]
    names = [transcript.name for transcript in transcripts]
    if not names:
        what, fix = "no transcripts", "write one, as docs/transcripts.md shows"
    elif name is None:
        what = f"{len(names)} transcripts"
        fix = f"name one: {' or '.join(f'name={each!r}' for each in names)}"
    else:
        what, fix = f"{len(chosen) or 'no'} transcripts called {name!r}", did_you_mean(name, names)
    raise TestingError("MS301", f"{file} has {what}", fix=fix)
