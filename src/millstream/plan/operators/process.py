"""A user's processor: per-key state and timers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError, RunError, did_you_mean, in_step
from millstream.model.processors import (
    Processor,
    RowOrder,
    TimeDomain,
    TimerKind,
    TimeToLive,
    overrides,
    timers_of,
)
from millstream.model.windowing import Windowing, checked_lateness
from millstream.model.windows import Global, Window
from millstream.plan.build.functions import checked_on_error, function_name
from millstream.plan.checks.callbacks import check_callbacks
from millstream.plan.checks.column_names import check_column_names
from millstream.plan.checks.on_batch import check_on_batch
from millstream.plan.checks.processor_times import check_event_time, check_times
from millstream.plan.checks.retractions import check_takes_nothing_back
from millstream.plan.explain.details import fate_text, setting_lines
from millstream.plan.explain.words import keys_text, where_text
from millstream.plan.lineage import kind_column
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Line, Node, OnError, Port, SideOutput
from millstream.plan.operators.one_port import OnePort
from millstream.plan.operators.windowed import KIND
from millstream.plan.settings import Settings
from millstream.plan.types.schema import Schema

if TYPE_CHECKING:
    from millstream.plan.types.fields import StateClass

_OWN_TAGS = ("rows", "late", "rejected")
_PARTS = {"state": "field", "timers": "timer"}
_TIMES: dict[TimeDomain, str] = {"event_time": "event time", "processing_time": "the clock"}


@dataclass(frozen=True)
class Processing:
    """What runs for each key, apart from where its rows come from."""

    step: str
    processor: Processor
    state: StateClass | None
    timers: Mapping[str, TimeDomain]
    keys: tuple[str, ...]
    outputs: Mapping[str, Schema]
    """The columns of what callbacks emit, by tag: ``rows``, and the side outputs."""
    order: RowOrder
    window: Window | None
    lateness: int | None
    """How far behind the watermark a row may be, or its window's end; None: any row is taken."""
    on_error: OnError
    kind: str | None
    """The column that marks retractions of the input."""

    @property
    def name(self) -> str:
        """What the user calls the processor."""
        return function_name(type(self.processor))

    @property
    def time_to_live(self) -> TimeToLive | None:
        """That of all state of a key."""
        given = self.processor.ttl
        return given if isinstance(given, TimeToLive) else None

    @property
    def times_of_fields(self) -> dict[str, TimeToLive]:
        """Those of single fields."""
        given = self.processor.ttl
        return dict(given) if isinstance(given, dict) else {}

    @property
    def lives(self) -> list[TimeToLive | None]:
        """That of all state, and those of fields."""
        return [self.time_to_live, *self.times_of_fields.values()]

    def advice_on_output(self, tag: object) -> str:
        """What to do where a side output is meant that was not declared."""
        known = [name for name in self.outputs if name != "rows"]
        if known:
            return did_you_mean(str(tag), known)
        return f"declare it: process(…, outputs={{{tag!r}: 'account string'}})"

    def unknown_output(self, tag: object) -> RunError:
        """The error of a callback that emits to such a one."""
        what = f"{self.name} emits to {tag!r}, which is none of its outputs"
        return RunError("MS201", what, fix=self.advice_on_output(tag), step=self.step)

    def cannot_retract(self, tag: str) -> RunError:
        """The error of a callback that takes a row back where it cannot."""
        what = f"the output {tag!r} takes rows back, which only the main one can"
        if tag == "rows":
            what = f"{self.name} takes a row back, which its class does not say"
        fix = "write retracts = True in the class of the processor"
        return RunError("MS201", what, fix=fix, step=self.step)

    @property
    def retracts(self) -> bool:
        """Whether its rows may take others back."""
        return type(self.processor).retracts

    @property
    def by_batch(self) -> bool:
        """Whether the processor takes the rows of many keys at once."""
        return overrides(self.processor, "on_batch")


@dataclass(frozen=True, eq=False)
class Process(OnePort):
    """Runs a processor for each key, or for each key and window."""

    kind: ClassVar[str] = "process"

    processing: Processing
    windowing: Windowing

    def __post_init__(self) -> None:
        # Errors and rejected rows have the name that the step has in its program.
        object.__setattr__(self, "processing", replace(self.processing, step=self.name))

    @property
    def tags(self) -> tuple[str, ...]:
        """Late rows, rejected ones, and the side outputs of the processor."""
        return ("late", "rejected", *(tag for tag in self.processing.outputs if tag != "rows"))

    @property
    def ordered(self) -> bool:
        """Callbacks get rows in an order that is always the same."""
        return True

    @property
    def details(self) -> list[Line]:
        """What runs, on which state and timers."""
        what = self.processing
        key, *others = self.kept_details
        form = "in columns, " if what.by_batch else ""
        runs = f"{what.name}, {form}a row that raises {fate_text(what.on_error)}"
        lines = [key, ("runs", runs)]
        for label in ("state", "timers"):
            parts = [text for part, text in self.kept_parts if part == _PARTS[label]]
            lines += [(label, ", ".join(parts))] if parts else []
        return [*lines, *others]

    @property
    def kept_details(self) -> list[Line]:
        """Whose state there is, for how long, and in which order it takes rows."""
        what = self.processing
        lines = [("key", keys_text(self.keys) or "none: all rows have one state")]
        if what.window is not None:
            lines.append(("where", where_text(self.windowing)))
        given = what.processor.ttl
        if given is not None:
            lines.append(("ttl", repr(given)))
        lines.append(("order", "event time" if what.order == "event_time" else "arrival"))
        return lines

    @property
    def kept_parts(self) -> list[Line]:
        """Fields of the state, and timers."""
        what = self.processing
        fields = [] if what.state is None else [str(each) for each in what.state.fields]
        timers = [f"{name} by {_TIMES[domain]}" for name, domain in what.timers.items()]
        return [*(("field", text) for text in fields), *(("timer", text) for text in timers)]

    @property
    def retracts(self) -> bool:
        """Whether the processor takes rows back."""
        return self.processing.retracts

    @property
    def may_reject(self) -> bool:
        """Whether a row on which the processor raises is rejected."""
        return self.processing.on_error == "reject"

    @property
    def uses_clock(self) -> bool:
        """Whether it has a timer or a time to live by the clock."""
        what = self.processing
        by_clock = any(each is not None and each.domain == "processing_time" for each in what.lives)
        return by_clock or "processing_time" in what.timers.values()

    @property
    def needs_whole_rows(self) -> bool:
        """Callbacks get all columns."""
        return True

    @property
    def state_types(self) -> tuple[str, ...]:
        """The types of its keys, and of rows that wait for their turn."""
        waiting = self.input.schema if self.processing.order == "event_time" else ()
        return (*super().state_types, *map(str, waiting))

    @property
    def functions(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The processor, whose callbacks run in workers."""
        yield self.processing.name, self.processing.processor.on_row


def process(
    input: Node,
    settings: Settings,
    processor: Any,
    schema: Any,
    outputs: Mapping[str, Any] | None,
    order: Any,
    allowed_lateness: Any,
    on_error: Any,
) -> Process:
    """The checked processor over ``input`` by key, and by window if one is set."""
    # sqlglot costs most of an import of millstream: only programs with schemas pay it.
    from millstream.plan.types.fields import state_of

    step = automatic_name(Process.kind, input)
    with in_step(step):
        made = _checked_processor(processor)
        _check_settings(settings)
        order = one_of(order, "order", get_args(RowOrder))
        windowing = settings.windowing
        if isinstance(windowing.window, Global):
            windowing = replace(windowing, window=None)
        if windowing.window is not None or order == "event_time" or allowed_lateness is not None:
            check_event_time(input, f"process({function_name(type(made))})")
        _check_window(windowing.window)
        kinds = type(made)
        if not kinds.takes_retractions:
            check_takes_nothing_back(
                input, f"process({kinds.__name__})", "say takes_retractions = True in its class"
            )
        tagged = _outputs(schema, outputs)
        rows = tagged["rows"]
        if kinds.retracts:
            check_column_names(rows.names, own=[KIND.name])
            rows = Schema((*rows, KIND))
        what = Processing(
            step=step,
            processor=made,
            state=state_of(made),
            timers=timers_of(made),
            keys=tuple(name for name, _ in settings.keys),
            outputs=tagged,
            order=order,
            window=windowing.window,
            lateness=_lateness(windowing, allowed_lateness, order),
            on_error=checked_on_error(on_error),
            kind=kind_column(input),
        )
        check_times(what, input)
        check_on_batch(what, input.schema.names)
    return Process(step, rows, (Port("rows", input, settings.keys),), what, windowing)


def output(input: Node, name: Any) -> SideOutput:
    """What a processor emits to a side output."""
    if not isinstance(input, Process):
        raise PlanError(
            "MS117",
            f"{input.name!r} is no processor, and only a processor has outputs by name",
            fix="take .output(…) of the stream that process(…) returned",
            step=input.name,
        )
    schema = input.processing.outputs.get(name)
    if schema is None or name == "rows":
        raise PlanError(
            "MS113",
            f"{input.name!r} has no output {name!r}",
            fix=input.processing.advice_on_output(name),
            step=input.name,
        )
    return SideOutput(automatic_name(str(name), input), schema, input, str(name))


def _checked_processor(given: Any) -> Processor:
    made = given
    if isinstance(given, type) and issubclass(given, Processor):
        try:
            made = given()
        except TypeError as error:
            raise PlanError(
                "MS130",
                f"{given.__name__} cannot be made without arguments: {error}",
                fix=f"give one that is made: process({given.__name__}(…), …)",
            ) from None
    if not isinstance(made, Processor):
        raise PlanError(
            "MS113",
            f"process() takes a processor, not {given!r}",
            fix="give a class that extends ms.Processor",
        )
    check_callbacks(made)
    for name in vars(made):
        if isinstance(getattr(made, name), TimerKind):
            raise PlanError(
                "MS130",
                f"the timer {name!r} of {function_name(type(made))} is declared in an instance",
                fix="declare timers in the class: silent = ms.timer('processing_time')",
            )
    return made


def _check_window(window: Window | None) -> None:
    if window is not None and (window.merging or not window.by_time):
        why = "merge, and state does not" if window.merging else "depend on the rows of a key"
        raise PlanError(
            "MS107",
            f"state cannot be kept for each of {window!r}: these windows {why}",
            fix="use fixed, sliding or calendar windows, or keep what you need in the state, with "
            "a timer for its end",
        )


def _check_settings(settings: Settings) -> None:
    windowing = settings.windowing
    others = setting_lines(
        Settings(windowing=Windowing(trigger=windowing.trigger, refine=windowing.refine))
    )
    if others:
        raise PlanError(
            "MS117",
            "process() emits what its callbacks emit, and has no use for "
            + ", ".join(map(" ".join, others)),
            fix="leave it out: only key_by(…) and window(…) are for process()",
        )


def _outputs(schema: Any, outputs: Mapping[str, Any] | None) -> dict[str, Schema]:
    if schema is None:
        raise PlanError(
            "MS116",
            "nothing says what columns the rows have that process() emits",
            fix="give process(…, schema='account string, balance bigint'), say",
        )
    if not isinstance(outputs or {}, Mapping):
        raise PlanError(
            "MS113",
            f"outputs={outputs!r}: that has no names",
            fix="give a dict: outputs={'alerts': 'account string, balance bigint'}",
        )
    tagged = {"rows": Schema.of(schema)}
    for tag, columns in (outputs or {}).items():
        if not isinstance(tag, str) or not tag.isidentifier() or tag in _OWN_TAGS:
            own = f"; {', '.join(_OWN_TAGS)} are Millstream's own" if tag in _OWN_TAGS else ""
            raise PlanError(
                "MS113", f"{tag!r} is no name of an output{own}", fix="use a name such as 'alerts'"
            )
        tagged[tag] = Schema.of(columns)
    return tagged


def _lateness(windowing: Windowing, given: Any, order: RowOrder) -> int | None:
    if windowing.window is not None:
        if given is not None:
            raise PlanError(
                "MS117",
                "process(allowed_lateness=…) after window(…), which has a lateness of its own",
                fix="write window(…, allowed_lateness=…)",
            )
        return windowing.allowed_lateness
    if given is None:
        return 0 if order == "event_time" else None
    return checked_lateness(given)
