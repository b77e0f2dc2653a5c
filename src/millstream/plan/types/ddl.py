"""Reads Spark's types and column definitions with sqlglot; prints types in one canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sqlglot import Token, TokenType, exp, parse, parse_one, tokenize
from sqlglot.errors import SqlglotError

from millstream.model.errors import PlanError, did_you_mean

_T = exp.DType
_ARITY = {_T.ARRAY: 1, _T.MAP: 2}
_KNOWN = {
    _T.TINYINT: "TINYINT",
    _T.SMALLINT: "SMALLINT",
    _T.INT: "INT",
    _T.BIGINT: "BIGINT",
    _T.FLOAT: "FLOAT",
    _T.DOUBLE: "DOUBLE",
    _T.DECIMAL: "DECIMAL",
    _T.TEXT: "STRING",
    _T.CHAR: "CHAR",
    _T.VARCHAR: "VARCHAR",
    _T.BINARY: "BINARY",
    _T.BOOLEAN: "BOOLEAN",
    _T.DATE: "DATE",
    _T.TIMESTAMPTZ: "TIMESTAMP",
    _T.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
    _T.INTERVAL: "INTERVAL",
    _T.ARRAY: "ARRAY",
    _T.MAP: "MAP",
    _T.STRUCT: "STRUCT",
    _T.VARIANT: "VARIANT",
}


_ELSEWHERE = {
    "DATETIME": "TIMESTAMP",
    "INSTANT": "TIMESTAMP",
    **dict.fromkeys(("UUID", "JSON", "UTF8", "OBJECT", "NVARCHAR"), "STRING"),
    **dict.fromkeys(("BYTES", "BLOB", "BYTEA"), "BINARY"),
    "FLOAT64": "DOUBLE",
    **dict.fromkeys(("LIST", "TUPLE", "SET"), "ARRAY"),
    "DICT": "MAP",
    "RECORD": "STRUCT",
}
"""What other systems call types that Spark has."""


def read_ddl(text: str) -> Iterator[tuple[str, str]]:
    """The columns of a DDL text, as names and canonical types.

    >>> list(read_ddl("`user name` string NOT NULL, tags array<string> COMMENT 'of the user'"))
    [('user name', 'STRING'), ('tags', 'ARRAY<STRING>')]
    """
    try:
        tokens = tokenize(text, read="spark")
    except SqlglotError as error:
        raise _unreadable(text, str(error)) from None
    for column in _columns(tokens):
        yield _column(text, column)


def read_type(text: str) -> str:
    """The canonical form of a Spark type.

    >>> read_type("struct<at: timestamp, n:decimal>")
    'STRUCT<at: TIMESTAMP, n: DECIMAL(10, 0)>'
    """
    try:
        return canonical_type(parse_one(text, read="spark", into=exp.DataType))
    except (SqlglotError, UnknownTypeError):
        # The word that fits no type is the likely typing error: the hint is about that one.
        words = [w.upper() for w in re.findall(r"\w+", text)] or [""]
        odd = next((w for w in words if w not in _KNOWN.values()), words[0])
        raise PlanError(
            "MS111",
            f"{text!r} is not a Spark type",
            fix=did_you_mean(_ELSEWHERE.get(odd, odd), _KNOWN.values()),
        ) from None


def inner_types(type: str) -> list[tuple[str, str]]:
    """What a canonical type holds: an array's items, a map's keys and values, a struct's fields.

    >>> inner_types("STRUCT<user: STRING, points: ARRAY<INT>>"), inner_types("DECIMAL(10, 2)")
    ([('user', 'STRING'), ('points', 'ARRAY<INT>')], [])
    """
    parts = exp.DataType.build(type, dialect="spark").expressions
    typed = [(part.name, part.args.get("kind") or part) for part in parts]
    return [(n, canonical_type(t)) for n, t in typed if isinstance(t, exp.DataType)]


class UnknownTypeError(Exception):
    """sqlglot knows the type, Spark does not."""


def canonical_type(type: exp.DataType) -> str:
    """The type as Spark itself would print it: aliases, defaults and field comments resolved."""
    return _canonical(type.copy()).sql("spark")


def _canonical(type: exp.DataType) -> exp.DataType:
    if isinstance(type.this, exp.Interval):
        return type
    if type.this == _T.TIMESTAMPLTZ:
        type.set("this", _T.TIMESTAMPTZ)
    inner = type.expressions
    if type.this not in _KNOWN or len(inner) != _ARITY.get(type.this, len(inner)):
        raise UnknownTypeError
    if type.this == _T.DECIMAL:
        given = [part.name for part in inner]
        precision, scale = (given + ["10", "0"][len(given) :])[:2]
        return exp.DataType.build(f"DECIMAL({precision}, {scale})")
    if type.this == _T.STRUCT and not inner:
        raise UnknownTypeError
    if type.this in (_T.ARRAY, _T.MAP, _T.STRUCT):
        type.set("expressions", [_inner(part) for part in inner])
    return type


def _inner(part: exp.Expr) -> exp.Expr:
    if isinstance(part, exp.ColumnDef) and part.kind is not None:
        return exp.ColumnDef(this=identifier(part.name).copy(), kind=_canonical(part.kind))
    if isinstance(part, exp.DataType):
        return _canonical(part)
    raise UnknownTypeError


@cache
def identifier(name: str) -> exp.Identifier:
    """The name in SQL, in backquotes only where it would be read as something else."""
    try:
        alone = parse(name, read="spark")[0]
        # With a dot it would be a field of a column; letters beyond ASCII Spark requires in quotes.
        plain = isinstance(alone, exp.Column) and alone.name == alone.sql("spark") == name
        plain = plain and name.isascii()
    except SqlglotError:
        plain = False
    return exp.to_identifier(name, quoted=not plain)


def _columns(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens between the commas that are in no brackets."""
    depth, column = 0, list[Token]()
    for token in tokens:
        depth += token.token_type in (TokenType.LT, TokenType.L_PAREN)
        depth -= token.token_type in (TokenType.GT, TokenType.R_PAREN)
        if token.token_type == TokenType.COMMA and not depth:
            yield column
            column = []
        else:
            column.append(token)
    if tokens:
        yield column


def _column(text: str, tokens: list[Token]) -> tuple[str, str]:
    if not tokens or not _names(tokens[0]):
        raise _unreadable(text, "a column name is missing")
    name, *rest = tokens
    if rest and rest[0].token_type == TokenType.COLON:
        rest = rest[1:]
    rest = _without_remarks(rest)
    if not rest:
        raise _unreadable(text, f"column {name.text!r} has no type")
    return name.text, _named_type(name.text, text[rest[0].start : rest[-1].end + 1])


def _named_type(column: str, text: str) -> str:
    try:
        return read_type(text)
    except PlanError as error:
        raise PlanError("MS111", f"column {column!r}: {error.what}", fix=error.fix) from None


def _names(token: Token) -> bool:
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return token.token_type == TokenType.IDENTIFIER
    return re.fullmatch(r"\w+", token.text) is not None


def _without_remarks(tokens: list[Token]) -> list[Token]:
    """The type alone: NOT NULL and COMMENT '…' are of no use here."""
    kinds = [token.token_type for token in tokens]
    if kinds[-2:-1] == [TokenType.COMMENT] and kinds[-1] == TokenType.STRING:
        return _without_remarks(tokens[:-2])
    if kinds[-2:] == [TokenType.NOT, TokenType.NULL]:
        return _without_remarks(tokens[:-2])
    return tokens


def _unreadable(text: str, why: str) -> PlanError:
    return PlanError(
        "MS111",
        f"{text!r} cannot be read as a schema: {why}",
        fix="write Spark DDL such as 'user string, points int, at timestamp', "
        "odd names in backquotes",
    )
