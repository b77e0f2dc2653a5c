"""When panes are emitted: one small machine for each kind of trigger (§4; §14, 10 to 13).

A machine belongs to one key and window. The grouping passes it elements, asks ``should_fire``
(which changes nothing), and calls ``on_fire`` when it emits. ``clear`` forgets what was seen
since the last firing but not what has finished; a fresh machine forgets both. When windows merge,
a fresh machine takes over the state of theirs with ``merge``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.model import triggers as described
from millstream.model.triggers import Trigger


@dataclass(frozen=True, slots=True)
class Moment:
    """What a machine may know: whether its window has ended, the clock, and the kind of windows."""

    end_passed: bool
    now: int
    merging: bool


class Machine(ABC):
    """The state of one trigger of one key and window."""

    finished = False

    @abstractmethod
    def on_element(self, moment: Moment) -> None:
        """An element has joined the pane."""

    @abstractmethod
    def should_fire(self, moment: Moment) -> bool:
        """Whether a pane is due."""

    @abstractmethod
    def on_fire(self, moment: Moment) -> None:
        """A pane is emitted, because ``should_fire`` was true."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what was seen since the last firing."""

    @abstractmethod
    def merge(self, machines: Sequence[Any], moment: Moment) -> None:
        """Take over the state of the machines of merged windows."""

    def deadlines(self) -> Iterator[int]:
        """The clock times after which this trigger is to be asked again."""
        yield from ()


def machine(trigger: Trigger) -> Machine:
    """A fresh machine for a trigger."""
    match trigger:
        case described.AtWatermark():
            return AtWatermark(trigger)
        case described.AfterCount():
            return AfterCount(trigger)
        case described.AfterDelay() | described.Every():
            return AfterDelay(trigger)
        case described.Repeatedly():
            return Repeatedly(trigger)
        case described.FirstOf():
            return FirstOf(trigger.parts)
        case described.AllOf():
            return AllOf(trigger.parts)
        case described.InOrder():
            return InOrder(trigger.parts)
        case described.OrFinally():
            return OrFinally((trigger.main, trigger.until))
        case described.Never():
            return Never()
    raise AssertionError(trigger)


class AtWatermark(Machine):
    """Early until the window's end has fired, late from then on."""

    def __init__(self, trigger: described.AtWatermark) -> None:
        self.trigger = trigger
        self.past = False
        self._restart()

    def _restart(self) -> None:
        self.early = machine(self.trigger.early or described.never())
        self.late = machine(self.trigger.late or described.never())

    @property
    def finished(self) -> bool:  # type: ignore[override]
        return self.past and self.trigger.late is None

    def on_element(self, moment: Moment) -> None:
        # Where windows merge early listens on: a session that grows goes back to that phase.
        if moment.merging or not self.past:
            self.early.on_element(moment)
        if self.past:
            self.late.on_element(moment)

    def should_fire(self, moment: Moment) -> bool:
        if self.past:
            return self.late.should_fire(moment)
        return moment.end_passed or self.early.should_fire(moment)

    def on_fire(self, moment: Moment) -> None:
        self.past = self.past or moment.end_passed
        self._restart()

    def clear(self) -> None:
        self.early.clear()
        self.late.clear()

    def merge(self, machines: Sequence[AtWatermark], moment: Moment) -> None:
        self.past = moment.end_passed and all(m.past for m in machines)
        if self.past:
            self.late.merge([m.late for m in machines], moment)
        else:
            self.early.merge([m.early for m in machines], moment)

    def deadlines(self) -> Iterator[int]:
        yield from (self.late if self.past else self.early).deadlines()


class AfterCount(Machine):
    def __init__(self, trigger: described.AfterCount) -> None:
        self.target = trigger.count
        self.seen = 0

    def on_element(self, moment: Moment) -> None:
        self.seen += 1

    def should_fire(self, moment: Moment) -> bool:
        return not self.finished and self.seen >= self.target

    def on_fire(self, moment: Moment) -> None:
        self.clear()
        self.finished = True

    def clear(self) -> None:
        self.seen = 0

    def merge(self, machines: Sequence[AfterCount], moment: Moment) -> None:
        self.finished = any(m.finished for m in machines)
        self.seen = 0 if self.finished else sum(m.seen for m in machines)


class AfterDelay(Machine):
    """``after_delay`` and ``every``: both wait from the pane's first element for a clock time."""

    def __init__(self, trigger: described.AfterDelay | described.Every) -> None:
        self.trigger = trigger
        self.deadline: int | None = None

    def on_element(self, moment: Moment) -> None:
        if self.deadline is None:
            self.deadline = self._target(moment.now)

    def _target(self, now: int) -> int:
        match self.trigger:
            case described.AfterDelay(delay):
                return now + delay
            case described.Every(period, offset):
                return now + (offset - now) % period

    def should_fire(self, moment: Moment) -> bool:
        return not self.finished and self.deadline is not None and moment.now > self.deadline

    def on_fire(self, moment: Moment) -> None:
        self.clear()
        self.finished = True

    def clear(self) -> None:
        self.deadline = None

    def merge(self, machines: Sequence[AfterDelay], moment: Moment) -> None:
        # A delay that had finished has no deadline: in the new window it may run again.
        self.deadline = min((m.deadline for m in machines if m.deadline is not None), default=None)

    def deadlines(self) -> Iterator[int]:
        if not self.finished and self.deadline is not None:
            yield self.deadline


class Repeatedly(Machine):
    def __init__(self, trigger: described.Repeatedly) -> None:
        self.trigger = trigger
        self.part = machine(trigger.part)

    def on_element(self, moment: Moment) -> None:
        self.part.on_element(moment)

    def should_fire(self, moment: Moment) -> bool:
        return self.part.should_fire(moment)

    def on_fire(self, moment: Moment) -> None:
        self.part.on_fire(moment)
        if self.part.finished:
            self.part = machine(self.trigger.part)

    def clear(self) -> None:
        self.part.clear()

    def merge(self, machines: Sequence[Repeatedly], moment: Moment) -> None:
        self.part.merge([m.part for m in machines], moment)
        if self.part.finished:
            self.part = machine(self.trigger.part)

    def deadlines(self) -> Iterator[int]:
        yield from self.part.deadlines()


class Composite(Machine):
    """A trigger of several parts; each kind makes its readiness of theirs."""

    def __init__(self, parts: Sequence[Trigger]) -> None:
        self.parts = [machine(part) for part in parts]

    def on_element(self, moment: Moment) -> None:
        for part in self.parts:
            part.on_element(moment)

    def clear(self) -> None:
        for part in self.parts:
            part.clear()

    def merge(self, machines: Sequence[Composite], moment: Moment) -> None:
        for i, part in enumerate(self.parts):
            part.merge([m.parts[i] for m in machines], moment)

    def deadlines(self) -> Iterator[int]:
        for part in self.parts:
            yield from part.deadlines()


class FirstOf(Composite):
    def should_fire(self, moment: Moment) -> bool:
        return not self.finished and any(p.finished or p.should_fire(moment) for p in self.parts)

    def on_fire(self, moment: Moment) -> None:
        for part in self.parts:
            if part.should_fire(moment):
                part.on_fire(moment)
        self.clear()
        self.finished = True

    def merge(self, machines: Sequence[Composite], moment: Moment) -> None:
        super().merge(machines, moment)
        self.finished = any(part.finished for part in self.parts)


class AllOf(Composite):
    def should_fire(self, moment: Moment) -> bool:
        return not self.finished and all(p.finished or p.should_fire(moment) for p in self.parts)

    def on_fire(self, moment: Moment) -> None:
        for part in self.parts:
            if not part.finished:
                part.on_fire(moment)
        self.clear()
        self.finished = True

    def merge(self, machines: Sequence[Composite], moment: Moment) -> None:
        super().merge(machines, moment)
        self.finished = all(part.finished for part in self.parts)


class InOrder(Composite):
    """The first unfinished part is the current one; only it is asked."""

    @property
    def finished(self) -> bool:  # type: ignore[override]
        return all(part.finished for part in self.parts)

    def _current(self) -> Machine | None:
        return next((part for part in self.parts if not part.finished), None)

    def on_element(self, moment: Moment) -> None:
        # Where windows merge a finished part may have to start again, so all of them listen.
        current = self._current()
        if moment.merging:
            super().on_element(moment)
        elif current:
            current.on_element(moment)

    def should_fire(self, moment: Moment) -> bool:
        current = self._current()
        return current is not None and current.should_fire(moment)

    def on_fire(self, moment: Moment) -> None:
        current = self._current()
        assert current is not None
        current.on_fire(moment)
        if moment.merging:
            self.clear()

    def merge(self, machines: Sequence[Composite], moment: Moment) -> None:
        for i, part in enumerate(self.parts):
            part.merge([m.parts[i] for m in machines], moment)
            if not part.finished:
                return  # those after the current part have not begun

    def deadlines(self) -> Iterator[int]:
        current = self._current()
        if current:
            yield from current.deadlines()


class OrFinally(Composite):
    """The first part until the second is ready."""

    @property
    def finished(self) -> bool:  # type: ignore[override]
        return any(part.finished for part in self.parts)

    def should_fire(self, moment: Moment) -> bool:
        return not self.finished and any(part.should_fire(moment) for part in self.parts)

    def on_fire(self, moment: Moment) -> None:
        main, until = self.parts
        if until.should_fire(moment):
            until.on_fire(moment)
            main.clear()
        else:
            main.on_fire(moment)  # until keeps its state: it spans panes


class Never(Machine):
    def on_element(self, moment: Moment) -> None:
        pass

    def should_fire(self, moment: Moment) -> bool:
        return False

    def on_fire(self, moment: Moment) -> None:
        raise AssertionError("never() does not fire")

    def clear(self) -> None:
        pass

    def merge(self, machines: Sequence[Never], moment: Moment) -> None:
        pass
