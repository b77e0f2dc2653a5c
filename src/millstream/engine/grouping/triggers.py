"""Triggers as columns: each kind says what it keeps for a window, and how that changes.

A trigger compiles to a tree of nodes. A node names its state columns; its methods take and give
an ``Env``, which holds an expression for each column, and so run the machines of the reference
(``reference/triggers.py``) for all windows at once. A ``mask`` says for which windows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Literal

import polars as pl

from millstream.model import triggers as described
from millstream.model.triggers import Trigger

Env = Mapping[str, pl.Expr]
"""The value of each state column, as an expression over the columns of the table of panes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What triggers may know of time: expressions over the table of panes, and the clock."""

    end_passed: pl.Expr
    now: int
    merging: bool


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A column of trigger state: its type, a fresh window's value, and how windows merge it."""

    name: str
    dtype: type[pl.DataType]
    fresh: int | bool | None
    merge: Literal["sum", "min", "any", "all"]

    def merged(self, values: pl.Expr) -> pl.Expr:
        """The values of merged windows as one."""
        merged: pl.Expr = getattr(values, self.merge)()
        return merged


class Node(ABC):
    """One trigger of the tree."""

    def __init__(self, name: str, parts: Sequence[Trigger] = ()) -> None:
        self.name = name
        self.parts = [compiled(part, f"{name}.{i}") for i, part in enumerate(parts)]

    def columns(self) -> Iterator[StateColumn]:
        """The state of this node and of its parts."""
        yield from self.own_columns()
        for part in self.parts:
            yield from part.columns()

    def own_columns(self) -> Iterator[StateColumn]:
        yield from ()

    def on_elements(self, env: Env, count: pl.Expr, moment: Moment) -> Env:
        """``count`` elements have joined each pane."""
        return reduce(lambda e, part: part.on_elements(e, count, moment), self.parts, env)

    @abstractmethod
    def finished(self, env: Env) -> pl.Expr:
        """Whether the trigger has done its work."""

    @abstractmethod
    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        """Whether a pane is due."""

    @abstractmethod
    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        """Panes are emitted where ``mask`` is true."""

    def clear(self, env: Env, mask: pl.Expr) -> Env:
        """Forgets what was seen since the last firing, but not what has finished."""
        return reduce(lambda e, part: part.clear(e, mask), self.parts, env)

    def restart(self, env: Env, mask: pl.Expr) -> Env:
        """Forgets everything."""
        fresh = {c.name: _where(mask, pl.lit(c.fresh), env[c.name]) for c in self.columns()}
        return {**env, **fresh}

    def after_merge(self, env: Env, moment: Moment) -> Env:
        """Brings columns that were merged one by one into a state that a trigger can have."""
        return reduce(lambda e, part: part.after_merge(e, moment), self.parts, env)

    def due(self, env: Env, since: int, now: int) -> pl.Expr:
        """Whether the clock has passed a deadline of the trigger since it showed ``since``."""
        return reduce(or_, (part.due(env, since, now) for part in self.parts), pl.lit(False))


def compiled(trigger: Trigger, name: str = "t") -> Node:
    """The tree of nodes for a trigger."""
    match trigger:
        case described.AtWatermark(early, late):
            return AtWatermark(name, early, late)
        case described.AfterCount(count):
            return AfterCount(name, count)
        case described.AfterDelay() | described.Every():
            return AfterDelay(name, trigger)
        case described.Repeatedly(part):
            return Repeatedly(name, [part])
        case described.FirstOf(parts):
            return FirstOf(name, parts)
        case described.AllOf(parts):
            return AllOf(name, parts)
        case described.InOrder(parts):
            return InOrder(name, parts)
        case described.OrFinally(main, until):
            return OrFinally(name, [main, until])
        case described.Never():
            return Never(name)
    raise AssertionError(trigger)


class AtWatermark(Node):
    def __init__(self, name: str, early: Trigger | None, late: Trigger | None) -> None:
        super().__init__(name, [early or described.never(), late or described.never()])
        self.early, self.late = self.parts
        self.ends = late is None

    def own_columns(self) -> Iterator[StateColumn]:
        yield StateColumn(f"{self.name}.past", pl.Boolean, False, "all")

    def _past(self, env: Env) -> pl.Expr:
        return env[f"{self.name}.past"]

    def finished(self, env: Env) -> pl.Expr:
        return self._past(env) if self.ends else pl.lit(False)

    def on_elements(self, env: Env, count: pl.Expr, moment: Moment) -> Env:
        past = self._past(env)
        early = count if moment.merging else _where(past, pl.lit(0), count)
        env = self.early.on_elements(env, early, moment)
        return self.late.on_elements(env, _where(past, count, pl.lit(0)), moment)

    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        before = moment.end_passed | self.early.should_fire(env, moment)
        return _where(self._past(env), self.late.should_fire(env, moment), before)

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        past = self._past(env) | (mask & moment.end_passed)
        env = {**env, f"{self.name}.past": past}
        return self.late.restart(self.early.restart(env, mask), mask)

    def after_merge(self, env: Env, moment: Moment) -> Env:
        past = self._past(env) & moment.end_passed
        env = {**env, f"{self.name}.past": past}
        env = self.early.restart(self.early.after_merge(env, moment), past)
        return self.late.restart(self.late.after_merge(env, moment), ~past)

    def due(self, env: Env, since: int, now: int) -> pl.Expr:
        early, late = self.early.due(env, since, now), self.late.due(env, since, now)
        return _where(self._past(env), late, early)


class Once(Node):
    """A trigger that remembers having fired."""

    def own_columns(self) -> Iterator[StateColumn]:
        yield StateColumn(f"{self.name}.finished", pl.Boolean, False, "any")

    def finished(self, env: Env) -> pl.Expr:
        return env[f"{self.name}.finished"]

    def finish(self, env: Env, mask: pl.Expr) -> Env:
        return {**env, f"{self.name}.finished": self.finished(env) | mask}

    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        return ~self.finished(env) & self.ready(env, moment)

    @abstractmethod
    def ready(self, env: Env, moment: Moment) -> pl.Expr:
        """Whether it would fire, had it not done so before."""

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        return self.finish(self.clear(env, mask), mask)


class AfterCount(Once):
    def __init__(self, name: str, count: int) -> None:
        super().__init__(name)
        self.count = count
        self.seen = f"{name}.seen"

    def own_columns(self) -> Iterator[StateColumn]:
        yield from super().own_columns()
        yield StateColumn(self.seen, pl.Int64, 0, "sum")

    def on_elements(self, env: Env, count: pl.Expr, moment: Moment) -> Env:
        return {**env, self.seen: env[self.seen] + count}

    def ready(self, env: Env, moment: Moment) -> pl.Expr:
        return env[self.seen] >= self.count

    def clear(self, env: Env, mask: pl.Expr) -> Env:
        return {**env, self.seen: _where(mask, pl.lit(0), env[self.seen])}

    def after_merge(self, env: Env, moment: Moment) -> Env:
        return self.clear(env, self.finished(env))


class AfterDelay(Once):
    def __init__(self, name: str, trigger: described.AfterDelay | described.Every) -> None:
        super().__init__(name)
        self.trigger = trigger
        self.until = f"{name}.until"

    def own_columns(self) -> Iterator[StateColumn]:
        yield from super().own_columns()
        yield StateColumn(self.until, pl.Int64, None, "min")

    def on_elements(self, env: Env, count: pl.Expr, moment: Moment) -> Env:
        until = env[self.until]
        starts = until.is_null() & (count > 0)
        return {**env, self.until: _where(starts, pl.lit(self._target(moment.now)), until)}

    def _target(self, now: int) -> int:
        match self.trigger:
            case described.AfterDelay(delay):
                return now + delay
            case described.Every(period, offset):
                return now + (offset - now) % period

    def ready(self, env: Env, moment: Moment) -> pl.Expr:
        return (env[self.until] < moment.now).fill_null(False)

    def clear(self, env: Env, mask: pl.Expr) -> Env:
        return {**env, self.until: _where(mask, pl.lit(None), env[self.until])}

    def after_merge(self, env: Env, moment: Moment) -> Env:
        return {**env, f"{self.name}.finished": pl.lit(False)}

    def due(self, env: Env, since: int, now: int) -> pl.Expr:
        until = env[self.until]
        return ~self.finished(env) & ((until >= since) & (until < now)).fill_null(False)


class Repeatedly(Node):
    @property
    def part(self) -> Node:
        return self.parts[0]

    def finished(self, env: Env) -> pl.Expr:
        return pl.lit(False)

    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        return self.part.should_fire(env, moment)

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        return self._again(self.part.on_fire(env, mask, moment))

    def after_merge(self, env: Env, moment: Moment) -> Env:
        return self._again(self.part.after_merge(env, moment))

    def _again(self, env: Env) -> Env:
        return self.part.restart(env, self.part.finished(env))


class FirstOf(Once):
    def ready(self, env: Env, moment: Moment) -> pl.Expr:
        return reduce(or_, (p.finished(env) | p.should_fire(env, moment) for p in self.parts))

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        for part in self.parts:
            env = part.on_fire(env, mask & part.should_fire(env, moment), moment)
        return super().on_fire(env, mask, moment)

    def after_merge(self, env: Env, moment: Moment) -> Env:
        env = super().after_merge(env, moment)
        finished = reduce(or_, (part.finished(env) for part in self.parts))
        return {**env, f"{self.name}.finished": finished}


class AllOf(Once):
    def ready(self, env: Env, moment: Moment) -> pl.Expr:
        return reduce(and_, (p.finished(env) | p.should_fire(env, moment) for p in self.parts))

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        for part in self.parts:
            env = part.on_fire(env, mask & ~part.finished(env), moment)
        return super().on_fire(env, mask, moment)

    def after_merge(self, env: Env, moment: Moment) -> Env:
        env = super().after_merge(env, moment)
        finished = reduce(and_, (part.finished(env) for part in self.parts))
        return {**env, f"{self.name}.finished": finished}


class InOrder(Node):
    def finished(self, env: Env) -> pl.Expr:
        return reduce(and_, (part.finished(env) for part in self.parts))

    def _current(self, env: Env) -> Iterator[tuple[Node, pl.Expr]]:
        """Each part, and where it is the first unfinished one."""
        before = pl.lit(True)
        for part in self.parts:
            yield part, before & ~part.finished(env)
            before = before & part.finished(env)

    def on_elements(self, env: Env, count: pl.Expr, moment: Moment) -> Env:
        if moment.merging:
            return super().on_elements(env, count, moment)
        for part, current in list(self._current(env)):
            env = part.on_elements(env, _where(current, count, pl.lit(0)), moment)
        return env

    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        return reduce(or_, (c & p.should_fire(env, moment) for p, c in self._current(env)))

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        for part, current in list(self._current(env)):
            env = part.on_fire(env, mask & current, moment)
        return self.clear(env, mask) if moment.merging else env

    def after_merge(self, env: Env, moment: Moment) -> Env:
        waiting = pl.lit(False)
        for part in self.parts:
            env = part.restart(part.after_merge(env, moment), waiting)
            waiting = waiting | ~part.finished(env)
        return env

    def due(self, env: Env, since: int, now: int) -> pl.Expr:
        return reduce(or_, (c & p.due(env, since, now) for p, c in self._current(env)))


class OrFinally(Node):
    def finished(self, env: Env) -> pl.Expr:
        return reduce(or_, (part.finished(env) for part in self.parts))

    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        ready = reduce(or_, (part.should_fire(env, moment) for part in self.parts))
        return ~self.finished(env) & ready

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        main, until = self.parts
        finally_ = mask & until.should_fire(env, moment)
        env = main.on_fire(env, mask & ~until.should_fire(env, moment), moment)
        return main.clear(until.on_fire(env, finally_, moment), finally_)


class Never(Node):
    def finished(self, env: Env) -> pl.Expr:
        return pl.lit(False)

    def should_fire(self, env: Env, moment: Moment) -> pl.Expr:
        return pl.lit(False)

    def on_fire(self, env: Env, mask: pl.Expr, moment: Moment) -> Env:
        return env


def _where(mask: pl.Expr, then: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(mask).then(then).otherwise(otherwise)
