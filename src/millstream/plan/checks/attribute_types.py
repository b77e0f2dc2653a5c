"""MS123: windows follow the values of a column only if it has numbers, or is true and false."""

from __future__ import annotations

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError
from millstream.model.ordered_windows import Delta, Ordered
from millstream.model.windows import Window
from millstream.plan.sql.expressions import Expression, scalar
from millstream.plan.types.result_types import NUMBERS, base_type
from millstream.plan.types.schema import Schema


def checked_attribute(where: Window, schema: Schema) -> Expression | None:
    """What windows depend on besides the order of rows, of the type that they need."""
    if not isinstance(where, Ordered) or where.attribute is None:
        return None
    found = scalar(where.attribute, schema)
    types, name = (NUMBERS, "number") if isinstance(where, Delta) else (("BOOLEAN",), "condition")
    if found.type is None or base_type(found.type) in types:
        return found
    raise PlanError(
        "MS123",
        f"{as_code(where)}: {found.text} is {found.type}, which is no {name}",
        fix="give a column of numbers, or an expression that is one"
        if isinstance(where, Delta)
        else "give a condition, such as \"action = 'end'\"",
    )
