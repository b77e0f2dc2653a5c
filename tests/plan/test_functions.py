"""Users' functions: where the schema of their result comes from."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import pytest

import millstream as ms

ROWS = ms.from_rows([], schema="user string, points int")
METHODS = ["map", "flat_map", "map_batches"]


@dataclass
class Score:
    name: str


class ScoreDict(TypedDict):
    name: str


class ScoreTuple(NamedTuple):
    name: str


def to_score(row: dict[str, Any]) -> Score: ...  # type: ignore[empty-body]
def to_dict(row: dict[str, Any]) -> ScoreDict: ...  # type: ignore[empty-body]
def to_tuple(row: dict[str, Any]) -> ScoreTuple: ...  # type: ignore[empty-body]
def to_list(rows: Any) -> list[Score]: ...  # type: ignore[empty-body]
def to_iterable(rows: Any) -> Iterable[ScoreDict]: ...  # type: ignore[empty-body]
def to_iterator(rows: Any) -> Iterator[ScoreTuple]: ...  # type: ignore[empty-body]
def to_tuples(rows: Any) -> tuple[Score, ...]: ...  # type: ignore[empty-body]


def to_generator(rows: Any) -> Generator[Score, None, None]:
    yield Score("ann")


def vague(rows: Any) -> dict[str, Any]: ...  # type: ignore[empty-body]
def vague_list(rows: Any) -> list[dict[str, Any]]: ...  # type: ignore[empty-body]
def silent(rows): ...  # type: ignore[no-untyped-def]
def broken(rows: Any) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("function", [to_score, to_dict, to_tuple])
def test_map_takes_its_schema_from_the_return_annotation(function: Any) -> None:
    assert str(ROWS.map(function).schema) == "name STRING"


@pytest.mark.parametrize("method", ["flat_map", "map_batches"])
@pytest.mark.parametrize("function", [to_list, to_iterable, to_iterator, to_tuples, to_generator])
def test_the_others_take_it_from_an_annotated_iterable(method: str, function: Any) -> None:
    assert str(getattr(ROWS, method)(function).schema) == "name STRING"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", [vague, silent, lambda row: row, broken, len])
def test_a_function_that_does_not_say_its_columns_is_refused(method: str, function: Any) -> None:
    with pytest.raises(ms.PlanError) as caught:
        getattr(ROWS, method)(function)
    assert (caught.value.code, caught.value.step) == ("MS116", f"{method}-1")
    assert f"{method}(…, schema=" in caught.value.fix


def test_one_row_is_not_many_and_many_are_not_one() -> None:
    with pytest.raises(ms.PlanError, match="MS116"):
        ROWS.map(to_list)
    for method in (ROWS.flat_map, ROWS.map_batches):
        with pytest.raises(ms.PlanError, match="MS116 .*'Score'"):
            method(to_score)  # type: ignore[arg-type]
        with pytest.raises(ms.PlanError, match="MS116"):
            method(vague_list)


@pytest.mark.parametrize("method", METHODS)
def test_a_schema_that_is_said_wins(method: str) -> None:
    assert str(getattr(ROWS, method)(to_score, schema="n int").schema) == "n INT"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("given", [5, None, "upper(user)"])
def test_what_is_no_function_is_refused(method: str, given: Any) -> None:
    with pytest.raises(ms.PlanError, match=rf"MS113 in step '{method}-1': {method}\(\) takes a"):
        getattr(ROWS, method)(given, schema="n int")


@pytest.mark.parametrize("method", METHODS)
def test_what_happens_on_an_error_is_one_of_three(method: str) -> None:
    for choice in ("fail", "reject", "drop"):
        stream = getattr(ROWS, method)(silent, schema="n int", on_error=choice)
        assert stream.node.on_error == choice
    with pytest.raises(ms.PlanError, match="MS113 .*on_error='ignore' is not a choice"):
        getattr(ROWS, method)(silent, schema="n int", on_error="ignore")


def test_a_function_is_called_by_the_name_that_its_user_gave_it() -> None:
    def double(row): ...  # type: ignore[no-untyped-def]

    with pytest.raises(ms.PlanError, match="MS116 in step 'map-1': double declares nothing"):
        ROWS.map(double)


def test_a_bad_schema_is_refused_in_its_step() -> None:
    with pytest.raises(ms.PlanError, match="MS111 in step 'map-1'"):
        ROWS.map(silent, schema="n itn")


def key(row: dict[str, Any]) -> str: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "said", "type"),
    [
        (key, {}, "STRING"),
        (key, {"type": "int"}, "INT"),
        (silent, {"type": "array<string>"}, "ARRAY<STRING>"),
        (lambda row: 1, {"type": int}, "BIGINT"),
    ],
)
def test_a_key_functions_type_is_said_or_annotated(
    function: Any, said: dict[str, Any], type: str
) -> None:
    field = ROWS.key_by(function, **said).aggregate(n=ms.count()).schema.fields[0]
    assert (field.name, field.type) == ("key", type)


def test_a_key_function_without_a_type_is_refused_when_the_plan_is_built() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ROWS.key_by(lambda row: row["n"])
    assert str(caught.value) == (
        "MS116 in step 'aggregate-1': the key function <lambda> declares nothing about the type of "
        "its result\n  What to do: say it: key_by(…, type='string'), or annotate the function: "
        "def key(row) -> str, or give an expression: key_by('team')\n  More: millstream help MS116"
    )
    with pytest.raises(ms.PlanError, match="MS116 .*: the key function vague declares only 'dict'"):
        ROWS.key_by(vague)
    with pytest.raises(ms.PlanError, match="MS111 in step 'aggregate-1'"):
        ROWS.key_by(silent, type="strng")


def test_a_key_may_be_called_type_where_no_function_makes_it() -> None:
    assert ROWS.key_by(type="points % 2").aggregate(n=ms.count()).schema.names[0] == "type"
