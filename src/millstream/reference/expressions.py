"""Computes Spark SQL expressions over one row, in plain Python, with Spark's (ANSI) meaning.

It knows the operators and the everyday functions. What it does not know it refuses when the
expression is compiled, so that no result is ever a guess.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from sqlglot import exp

from millstream.model.errors import RunError
from millstream.plan.sql.failures import SqlError
from millstream.plan.sql.reading import typed_tree
from millstream.plan.types.schema import Schema
from millstream.reference.casts import cast, knows
from millstream.reference.sql_functions import BOUNDS, FUNCTIONS, equal, in_range, item

Row = Mapping[str, Any]
Compute = Callable[[Row], Any]


_T = exp.DType
_TEXT = (_T.TEXT, _T.VARCHAR, _T.CHAR)
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs)
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)


def compiled(text: str, schema: Schema) -> Compute:
    """The function of a row that a Spark SQL expression is; it may raise ``SqlError``.

    >>> scores = Schema.of("points int, bonus int")
    >>> compiled("points * 2 + coalesce(bonus, 1)", scores)({"points": 5, "bonus": None})
    11
    """
    return _compile(typed_tree(text, schema), text)


def _compile(node: exp.Expr, text: str) -> Compute:
    _check_operands(node, text)
    match node:
        case exp.Alias() | exp.Paren():
            return _compile(node.this, text)
        case exp.Column():
            return partial(_path, [part.name for part in node.parts])
        case exp.Dot(this=whole, expression=exp.Identifier(this=name)):
            before = _compile(whole, text)
            return lambda row: _field(before(row), name)
        case exp.Literal() if node.is_type(_T.DOUBLE):
            return _constant(float(node.name))
        case exp.Literal() | exp.Boolean() | exp.Null():
            return _constant(node.to_py())
        case exp.Neg():
            return _strict(operator.neg, node, [node.this], text)
        case exp.And() | exp.Or():
            return _logic(node, text)
        case exp.Not():
            return _strict(operator.not_, node, [node.this], text)
        case exp.Is():
            return _is(node, text)
        case exp.In(expressions=options) if options:
            return _one_of(node, text)
        case exp.Case() | exp.If():
            return _choice(node, text)
        case exp.Nullif():
            return _null_if(node, text)
        case exp.Coalesce():
            return _coalesce([node.this, *node.expressions], text)
        case exp.Cast():  # Spark's CAST and TRY_CAST are both one; only the latter is safe
            if not knows(node.to):
                raise _unknown(node, text)
            lenient = bool(node.args.get("safe"))
            return _strict(partial(cast, node.to, lenient), node, [node.this], text)
        case exp.Bracket() if not node.args.get("offset"):  # ELEMENT_AT counts from 1
            return _strict(item, node, [node.this, *node.expressions], text)
        case exp.Interval():
            return _constant(_interval(node, text))
        case exp.Struct() | exp.Array():
            return _constructor(node, text)
    function = FUNCTIONS.get(type(node))
    if function is None:
        raise _unknown(node, text)
    arguments = [node.args[name] for name in function[1] if node.args.get(name) is not None]
    flat = [a for arg in arguments for a in (arg if isinstance(arg, list) else [arg])]
    return _strict(function[0], node, flat, text)


def _strict(
    function: Callable[..., Any], node: exp.Expr, arguments: list[exp.Expr], text: str
) -> Compute:
    """A function of values: null where any argument is, and then no other is computed.

    Of a division, Spark computes the divisor first.
    """
    computes = [_compile(argument, text) for argument in arguments]
    order = [1, 0] if isinstance(node, _DIVISIONS) else range(len(computes))
    bound = BOUNDS.get(node.type.this) if node.type and isinstance(node, _ARITHMETIC) else None
    part = node.sql(dialect="spark")

    def compute(row: Row) -> Any:
        values: dict[int, Any] = {}
        for place in order:
            values[place] = computes[place](row)
            if values[place] is None:
                return None
        try:
            made = function(*(values[place] for place in range(len(computes))))
            return made if bound is None else in_range(made, bound)
        except SqlError as error:
            raise SqlError(error.condition, error.why, part) from None
        except (ValueError, ArithmeticError, TypeError, AttributeError, LookupError) as error:
            raise SqlError("", f"{type(error).__name__}: {error}", part) from error

    return compute


def _check_operands(node: exp.Expr, text: str) -> None:
    """Refuses text beside a number or a time: Spark makes one of it first, by rules of its own."""
    if isinstance(node, _COMPARED + _ARITHMETIC):
        sides = [child for child in node.iter_expressions() if child.type is not None]
        texts = [child.is_type(*_TEXT) for child in sides if not isinstance(child, exp.Null)]
        known = [not child.is_type(_T.UNKNOWN) for child in sides]
        if any(texts) and (isinstance(node, _ARITHMETIC) or (all(known) and not all(texts))):
            raise _unknown(node, text)


def _constant(value: Any) -> Compute:
    return lambda row: value


def _path(names: list[str], row: Row) -> Any:
    value: Any = row
    for name in names:
        value = _field(value, name)
    return value


def _field(value: Any, name: str) -> Any:
    """A field of a struct; of a list of structs, the list of their fields."""
    if value is None:
        return None
    if isinstance(value, list):
        return [_field(each, name) for each in value]
    if name in value:
        return value[name]
    return next(field for key, field in value.items() if key.casefold() == name.casefold())


def _logic(node: exp.Expr, text: str) -> Compute:
    """AND and OR of three truth values: null is 'unknown'."""
    left, right = _compile(node.this, text), _compile(node.expression, text)
    decisive = isinstance(node, exp.Or)

    def compute(row: Row) -> Any:
        first = left(row)
        if first is decisive:  # and the other is not computed
            return decisive
        second = right(row)
        if second is decisive:
            return decisive
        return None if first is None or second is None else not decisive

    return compute


def _is(node: exp.Is, text: str) -> Compute:
    value, expected = _compile(node.this, text), _compile(node.expression, text)
    return lambda row: value(row) is expected(row)


def _one_of(node: exp.In, text: str) -> Compute:
    value = _compile(node.this, text)
    options = [_compile(option, text) for option in node.expressions]

    def compute(row: Row) -> bool | None:
        given = value(row)
        if given is None:
            return None
        answer: bool | None = False
        for option in options:
            same = equal(given, option(row))
            if same:
                return True
            answer = None if same is None else answer
        return answer

    return compute


def _choice(node: exp.Expr, text: str) -> Compute:
    branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
    subject = node.this if isinstance(node, exp.Case) else None
    tests = [
        _compile(exp.EQ(this=subject.copy(), expression=b.this) if subject else b.this, text)
        for b in branches
    ]
    results = [_compile(branch.args["true"], text) for branch in branches]
    otherwise = node.args.get("default") or node.args.get("false")
    default = _compile(otherwise, text) if otherwise else _constant(None)

    def compute(row: Row) -> Any:
        for test, result in zip(tests, results, strict=True):
            if test(row):
                return result(row)
        return default(row)

    return compute


def _null_if(node: exp.Nullif, text: str) -> Compute:
    value, excluded = _compile(node.this, text), _compile(node.expression, text)
    return lambda row: None if equal(value(row), excluded(row)) else value(row)


def _coalesce(options: list[exp.Expr], text: str) -> Compute:
    computes = [_compile(option, text) for option in options]
    return lambda row: next((v for c in computes if (v := c(row)) is not None), None)


def _constructor(node: exp.Expr, text: str) -> Compute:
    computes = {
        _field_name(e, i): _compile(_field_value(e), text) for i, e in enumerate(node.expressions)
    }
    if isinstance(node, exp.Array):
        return lambda row: [c(row) for c in computes.values()]
    return lambda row: {name: c(row) for name, c in computes.items()}


def _field_name(node: exp.Expr, index: int) -> str:
    return node.this.name if isinstance(node, exp.PropertyEQ) else node.alias_or_name or f"#{index}"


def _field_value(node: exp.Expr) -> exp.Expr:
    return node.expression if isinstance(node, exp.PropertyEQ) else node


def _interval(node: exp.Interval, text: str) -> timedelta:
    unit = f"{node.unit.name.lower().rstrip('s')}s" if node.unit else ""
    if unit not in ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds"):
        raise _unknown(node, text)
    return timedelta(**{unit: float(node.this.name)})


def _unknown(node: exp.Expr, text: str) -> RunError:
    name = node.sql(dialect="spark")
    return RunError(
        "MS203",
        f"the reference cannot compute {name}{'' if name == text else f', a part of {text}'}",
        fix="compute the column in a map() function",
    )
