"""The changes of each key: rows that differ from the key's last one in the columns watched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.model.errors import PlanError, in_step
from millstream.plan.checks.retractions import check_takes_nothing_back
from millstream.plan.explain.details import setting_lines
from millstream.plan.explain.words import keys_text
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Computed, Line, Node, Port
from millstream.plan.operators.one_port import OnePort
from millstream.plan.settings import Settings
from millstream.plan.sql.expressions import Expression, scalar
from millstream.plan.types.schema import quoted


@dataclass(frozen=True, eq=False)
class Changes(OnePort):
    """Keeps a row if it differs, in one of the columns, from the row of its key before it."""

    kind: ClassVar[str] = "changes"
    columns: tuple[str, ...]

    @property
    def ordered(self) -> bool:
        """A row is compared with the one before it."""
        return True

    @property
    def details(self) -> list[Line]:
        """What it compares, and by which key."""
        return [
            ("key", keys_text(self.keys) or "none: all rows are compared"),
            ("watches", ", ".join(map(quoted, self.columns))),
        ]

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Its keys, if they are columns of the rows as they are."""
        names = tuple(name for name, key in self.keys if _is_column(name, key))
        return names if len(names) == len(self.keys) else ()

    @property
    def needs_whole_rows(self) -> bool:
        """It emits rows with all of their columns."""
        return True

    @property
    def state_types(self) -> tuple[str, ...]:
        """The types of its keys and of the columns that it compares."""
        return (*super().state_types, *(str(self.schema.resolve(name)) for name in self.columns))

    def computing(self, port: Port) -> Iterator[Computed]:
        """The keys, and the columns that are compared."""
        yield from super().computing(port)
        for i, name in enumerate(self.columns):
            column = scalar(quoted(name), port.input.schema)
            yield Computed(f"of {i}", f"column {name!r}", column)


def changes(input: Node, settings: Settings, given: tuple[Any, ...]) -> Changes:
    """The checked changes of ``input`` by key, in the columns that are given, or in all."""
    step = automatic_name(Changes.kind, input)
    with in_step(step):
        others = setting_lines(Settings(windowing=settings.windowing))
        if others:
            raise PlanError(
                "MS117",
                "changes() compares rows as they arrive, and has no use for "
                + ", ".join(map(" ".join, others)),
                fix="leave it out: only key_by(…) is for changes()",
            )
        check_takes_nothing_back(input, "changes()")
        resolved = (input.schema.resolve(str(name)).name for name in given)
        columns = tuple(dict.fromkeys(resolved)) or input.schema.names
    return Changes(step, input.schema, (Port("rows", input, settings.keys),), columns)


def _is_column(name: str, key: object) -> bool:
    return isinstance(key, Expression) and key.text in (name, quoted(name))
