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


def difference(left: str, right: str) -> str:
    return f"the first stream ('left') has {left} where the second stream ('right') has {right}"


def test_the_first_difference_is_told() -> None:
    assert refusal("a int, c string").what == difference("b STRING", "c STRING")
    assert refusal("a int").what == difference("b STRING", "no more columns")
    assert refusal("a int, b string, c int").what == difference("no more columns", "c INT")


@pytest.mark.parametrize(
    ("schema", "change", "stream"),
    [
        ("b string, a int", ".select('a', 'b')", "second"),
        ("a int, c string", ".select('a', 'c AS b')", "second"),
        ("a int, B string", ".select('a', 'B AS b')", "second"),
        ("a int", ".with_columns(b='cast(NULL AS STRING)')", "second"),
        ("b string", ".with_columns(a='cast(NULL AS INT)').select('a', 'b')", "second"),
        ("a int, b string, c date", ".with_columns(c='cast(NULL AS DATE)')", "first"),
        ("a bigint, b string", ".with_columns(a='cast(a AS BIGINT)')", "first"),
        ("a smallint, b string", ".with_columns(a='cast(a AS INT)')", "second"),
        ("a int, b date", ".with_columns(b='cast(b AS STRING)')", "second"),
    ],
)
def test_what_to_change_on_which_stream_is_said_and_works(
    schema: str, change: str, stream: str
) -> None:
    fix = refusal(schema).fix
    assert change in fix
    assert f"on the {stream} stream" in fix
    other = ms.from_rows([], schema=schema, name="right")
    streams = {"first": ROWS, "second": other}
    streams[stream] = eval(f"stream{change}", {"stream": streams[stream]})
    streams["first"].union(streams["second"])


def test_only_another_order_is_called_so() -> None:
    moved = "(the same columns in another order)"
    assert refusal("b string, a int").what.endswith(moved)
    for schema in ("a bigint, b string", "b int, a string", "a int, c string"):
        assert (moved in refusal(schema).what) == (schema == "b int, a string")


def test_streams_are_counted_from_the_first() -> None:
    with pytest.raises(ms.PlanError, match=r"the first stream \('left'\) .* the 4th stream"):
        ROWS.union(ROWS, ROWS, ROWS.select("a"))


def test_a_type_that_is_not_known_on_one_side_is_taken_from_the_other() -> None:
    unknown = ROWS.select("session.some_udf(b) AS a", "b")
    assert str(ROWS.union(unknown).schema) == str(unknown.union(ROWS).schema) == "a INT, b STRING"


def test_a_union_is_of_streams() -> None:
    with pytest.raises(ms.PlanError, match="MS113"):
        ROWS.union("right")  # type: ignore[arg-type]


def test_settings_of_the_parts_must_agree_where_they_are_said() -> None:
    keyed = ROWS.key_by("b").trigger(ms.never())
    united = ROWS.union(keyed, keyed.filter("a > 1"))
    assert united.settings == keyed.settings
    for other in (ROWS.key_by("a"), ROWS.trigger(ms.at_watermark())):
        with pytest.raises(ms.PlanError, match="MS117 in step 'union-1'"):
            keyed.union(other)
