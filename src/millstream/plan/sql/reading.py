"""Reads Spark SQL expressions with sqlglot: are they scalar, what do they read, what is their type.

This is the one place that knows sqlglot's trees; the rest of the plan sees text and types.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp, parse
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.typing import EXPRESSION_METADATA

from millstream.model.errors import PlanError, did_you_mean
from millstream.plan.sql.spark_functions import check_functions
from millstream.plan.types.ddl import UnknownTypeError, canonical_type, identifier
from millstream.plan.types.schema import Schema, find_name

_T = exp.DType
_TIMES = (_T.TIMESTAMPTZ, _T.TIMESTAMPNTZ, _T.DATE)
_DATE_PARTS = (exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day)
_TYPING: dict[type[exp.Expr], dict[str, Any]] = {
    **Spark.EXPRESSION_METADATA,
    # sqlglot promotes to BIGINT here, and calls date parts TINYINT; Spark does neither.
    exp.Coalesce: EXPRESSION_METADATA[exp.Coalesce],
    exp.If: EXPRESSION_METADATA[exp.If],
    **{part: {"returns": _T.INT} for part in _DATE_PARTS},
    # The type of a rounded number follows the number's, by rules of Spark's own.
    exp.Round: {"returns": _T.UNKNOWN},
}
_REFUSED = {
    exp.Query: ("is a query", "write an expression over the columns of one row"),
    exp.Window: ("is a window function", "use key_by(…).window(…).aggregate(…)"),
    exp.AggFunc: ("is an aggregate", "use it in aggregate(…), after key_by(…) and window(…)"),
    exp.UDTF: ("makes several rows of one", "use flat_map(…)"),
    exp.Parameter: ("is a parameter", "write the value itself"),
    exp.Placeholder: ("is a parameter", "write the value itself"),
    exp.Star: ("means many columns", "name the columns, or add some with with_columns(…)"),
}


def read_expression(
    text: str, schema: Schema
) -> tuple[str | None, str, str | None, frozenset[str]]:
    """The name after AS if there is one, canonical text, type if known, and columns read."""
    tree = _known_column(text, schema) or parsed(text)
    name = tree.alias or None if isinstance(tree, exp.Alias) else None
    tree = tree.this if isinstance(tree, exp.Alias) else tree
    _check_scalar(tree, text)
    reads = {_resolve(column, schema) for column in tree.find_all(exp.Column)}
    text = spelled(tree)
    check_functions(text)
    return name, text, _type(tree), frozenset(reads)


def spelled(tree: exp.Expr) -> str:
    """A tree as Spark SQL."""
    return _Spelling(dialect="spark", comments=False).generate(tree)


def typed_tree(text: str, schema: Schema) -> exp.Expr:
    """An expression that was read before, in which each part has its type where that is known."""
    tree = parsed(text)
    for column in list(tree.find_all(exp.Column)):
        _resolve(column, schema)
    return _typed(tree)


class _Spelling(SparkGenerator):
    """Spark SQL as people write it: ``user IS NOT NULL``, not ``NOT user IS NULL``.

    Some functions that Spark has by now, sqlglot replaces by something else.
    """

    TYPE_MAPPING: ClassVar = {
        kind: name for kind, name in SparkGenerator.TYPE_MAPPING.items() if kind != _T.TIME
    }

    def tochar_sql(self, expression: exp.ToChar) -> str:
        return self.func("TO_CHAR", expression.this, expression.args.get("format"))

    def parsejson_sql(self, expression: exp.ParseJSON) -> str:
        return self.func("PARSE_JSON", expression.this)

    def localtimestamp_sql(self, expression: exp.Localtimestamp) -> str:
        return self.func("LOCALTIMESTAMP")

    def not_sql(self, expression: exp.Not) -> str:
        inner = expression.this
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner.this)} IS NOT {self.sql(inner.expression)}"
        return super().not_sql(expression)


def column_name(text: str) -> str | None:
    """The name that a column has by itself: the last part of ``window.start``, say."""
    tree = parsed(text)
    return tree.name if isinstance(tree, exp.Column | exp.Dot) else None


def _known_column(text: str, schema: Schema) -> exp.Column | None:
    """A column given by its plain name, whatever characters and keywords that is made of."""
    if text not in schema.names:
        return None
    return exp.column(identifier(text).copy())


def parsed(text: str) -> exp.Expr:
    """The one statement or expression that a text is."""
    try:
        trees = [tree for tree in parse(text, read="spark") if tree is not None]
    except SqlglotError as error:
        raise _unreadable(text, _where(error)) from None
    if len(trees) != 1:
        raise _unreadable(text, "it is empty" if not trees else "it is several statements")
    return trees[0]


def _where(error: SqlglotError) -> str:
    details = error.errors[0] if isinstance(error, ParseError) and error.errors else None
    if not details:
        return str(error)
    return f"stuck at {details['highlight']!r}, character {details['col']}"


def _check_scalar(tree: exp.Expr, text: str) -> None:
    for kind, (what, fix) in _REFUSED.items():
        found = tree.find(kind)
        if found is not None:
            what = f"{found.sql('spark')!r} {what}, not a value of one row"
            raise PlanError("MS112", what, fix=fix)
    if not isinstance(tree, exp.Condition | exp.Interval | exp.AtTimeZone | exp.FromTimeZone):
        raise _unreadable(text, "it is a statement")


def _unreadable(text: str, why: str) -> PlanError:
    return PlanError(
        "MS112",
        f"{text!r} cannot be read as a Spark SQL expression: {why}",
        fix="write an expression over columns, such as 'points * 2'; a column named like a keyword "
        "goes in backquotes",
    )


def _resolve(column: exp.Column, schema: Schema) -> str:
    """Spells the column and its fields as the schema does, types it, and gives its name."""
    first, *path = column.parts
    field = schema.resolve(first.name)
    first.replace(identifier(field.name).copy())
    type = None if field.type is None else exp.DataType.build(field.type, dialect="spark")
    for part in path:
        type = _field(type, part, column)
    column.type = type or exp.DataType.build("UNKNOWN")
    return field.name


def _field(type: exp.DataType | None, part: exp.Expr, column: exp.Column) -> exp.DataType | None:
    """The type of a field of a struct; Spark has its own rules for fields of arrays and maps."""
    if type is None or type.this != _T.STRUCT:
        return None
    fields = {field.name: field for field in type.expressions}
    found = find_name(part.name, fields)
    if found is None:
        raise PlanError(
            "MS102",
            f"{column.sql('spark')!r}: there is no field {part.name!r}",
            fix=did_you_mean(part.name, fields),
        )
    part.replace(identifier(found.name).copy())
    kind = found.kind
    return kind if isinstance(kind, exp.DataType) else None


def _typed(tree: exp.Expr) -> exp.Expr:
    for literal in tree.find_all(exp.Literal):
        literal.type = exp.DataType.build(_literal_type(literal), dialect="spark")
    return annotate_types(tree, expression_metadata=_TYPING, dialect="spark", overwrite_types=False)


def _type(tree: exp.Expr) -> str | None:
    typed = _typed(tree)
    type = typed.type
    if type is None or _guessed(typed, type):
        return None
    try:
        return canonical_type(type)
    except UnknownTypeError:
        return None


def _literal_type(literal: exp.Literal) -> str:
    """Spark reads 1.5 as a decimal, and whole numbers by their size."""
    if literal.is_string:
        return "STRING"
    if "e" in literal.name.lower():
        return "DOUBLE"
    if "." in literal.name:
        return "DECIMAL"
    return "INT" if int(literal.name) < 2**31 else "BIGINT"


def _guessed(tree: exp.Expr, type: exp.DataType) -> bool:
    """Where sqlglot's answer is not Spark's: computed decimals and floats, differences of times."""
    if isinstance(tree, exp.Sub):
        return any(tree.args[side].is_type(*_TIMES) for side in ("this", "expression"))
    inexact = any(part.this in (_T.DECIMAL, _T.FLOAT) for part in type.find_all(exp.DataType))
    return inexact and not isinstance(tree, exp.Column | exp.Dot | exp.Bracket | exp.Cast)
