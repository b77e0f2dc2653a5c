"""MS109: a union is of streams with the same columns."""

from __future__ import annotations

import pytest

import millstream as ms

ROWS = ms.from_rows([], schema="a int, b string", name="left")


def refusal(schema: str) -> ms.PlanError:
    other = ms.from_rows([], schema=schema, name="right")
    with pytest.raises(ms.PlanError) as caught:
        ROWS.union(other)
    assert (caught.value.code, caught.value.step) == ("MS109", "union-1")
    return caught.value


def test_the_first_difference_is_told() -> None:
    assert refusal("a int, c string").what == "'left' has b STRING where 'right' has c STRING"
    assert refusal("a int").what == "'left' has b STRING where 'right' has no more columns"
    assert refusal("a int, b string, c int").what == (
        "'left' has no more columns where 'right' has c INT"
    )


def test_another_order_is_another_schema() -> None:
    error = refusal("b string, a int")
    assert error.what.endswith("(the same columns in another order)")
    assert error.fix == "make them alike: .select('a', 'b') before the union"


def test_another_type_is_another_schema_and_a_cast_is_suggested() -> None:
    error = refusal("a bigint, b string")
    assert error.what == "'left' has a INT where 'right' has a BIGINT"
    assert error.fix.endswith("such as 'cast(a AS INT) AS a'")


def test_the_suggestions_make_the_union_possible() -> None:
    ROWS.union(ms.from_rows([], schema="b string, a int").select("a", "b"))
    ROWS.union(ms.from_rows([], schema="a bigint, b string").select("cast(a AS INT) AS a", "b"))


def test_a_type_that_is_not_known_on_one_side_is_taken_from_the_other() -> None:
    unknown = ROWS.select("some_udf(b) AS a", "b")
    assert str(ROWS.union(unknown).schema) == str(unknown.union(ROWS).schema) == "a INT, b STRING"


def test_a_union_is_of_streams() -> None:
    with pytest.raises(ms.PlanError, match="MS113"):
        ROWS.union("right")  # type: ignore[arg-type]


def test_settings_of_the_parts_must_agree_where_they_are_said() -> None:
    keyed = ROWS.key_by("b").trigger(ms.never())
    united = ROWS.union(keyed, keyed.filter("a > 1"))
    assert (united.keys, united.windowing) == (keyed.keys, keyed.windowing)
    for other in (ROWS.key_by("a"), ROWS.trigger(ms.at_watermark())):
        with pytest.raises(ms.PlanError, match="MS117 in step 'union-1'"):
            keyed.union(other)
