"""The small forms of process give the same on all engines, and what their methods promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.names import with_distinct_names
from millstream.reference.rows import Row
from millstream.testing import Elements, ProcessingTime, Watermark, check_forms, replay, test_stream
from millstream.testing.columnar_process import ColumnarProcess
from millstream.testing.forms import _by_row, random_steps

ENGINES = ["reference", "columnar"]


def source() -> ms.Stream:
    return test_stream("key string, value int, at double", event_time="at")


def rows(*given: tuple[Any, ...]) -> Elements:
    return Elements([dict(zip(("key", "value", "at"), row, strict=True)) for row in given])


FORMS = {
    "latest": source().key_by("key").latest(),
    "sample": source().key_by("key").sample(every=3),
    "deduplicate": source().deduplicate("key", within=4),
    "top": source().key_by("key").top(2, by="value"),
    "update_state": source()
    .key_by("key")
    .update_state(lambda row, seen: [*seen, row["value"]], initial=[], type=list[int], timeout=3),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_small_form_gives_the_same_on_both_engines(form: str) -> None:
    stream = FORMS[form]
    for seed in range(30):
        steps = random_steps(source().schema, seed)
        made, expected = (replay(stream, steps=steps, engine=engine) for engine in ENGINES)
        assert by_key(made) == by_key(expected)
        assert sorted(map(str, made.late)) == sorted(map(str, expected.late))


def by_key(made: Any) -> dict[Any, list[str]]:
    """The rows of each key in order: in which order keys have their turns is open."""
    found: dict[Any, list[str]] = {}
    for row in made:
        found.setdefault((row.step, row.values["key"]), []).append(str(row))
    return found


@pytest.mark.parametrize("form", ["deduplicate", "latest", "sample", "top"])
def test_a_small_form_gives_the_same_in_columns_and_row_by_row(form: str) -> None:
    check_forms(FORMS[form], runs=30)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_duplicate_is_so_near_to_the_row_of_its_key_that_passed(engine: str) -> None:
    made = replay(
        source().deduplicate("key", within=10),
        steps=[
            rows(("a", 1, 20.0), ("a", 2, 29.0), ("a", 3, 11.0), ("a", 4, 30.0), ("b", 5, 20.0)),
            rows(("a", 6, 39.0), ("a", 7, 40.0), (None, 8, 30.0), (None, 9, 31.0)),
            Watermark(50),
            rows(("a", 10, 49.0), ("a", 11, 50.0)),
        ],
        engine=engine,
    )
    assert sorted(row.values["value"] for row in made) == [1, 4, 5, 7, 8, 11]
    assert [row.values["value"] for row in made.late] == [10]


@pytest.mark.parametrize("engine", ENGINES)
def test_without_keys_all_columns_are_compared(engine: str) -> None:
    given = [("a", 1, 1.0), ("a", 1, 1.0), ("a", 2, 1.0)]
    made = replay(source().deduplicate(within=10), steps=[rows(*given)], engine=engine)
    assert sorted(row.values["value"] for row in made) == [1, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_running_word_count(engine: str) -> None:
    counts = test_stream("word string").key_by("word").update_state(lambda _, n: n + 1, initial=0)
    batches = [["a"], ["a", "b"], ["b"]]
    steps = [Elements([{"word": word} for word in batch]) for batch in batches]
    made = replay(counts, steps=steps, engine=engine)
    seen = sorted((row.step, row.values["word"], row.values["state"]) for row in made)
    assert seen == [(0, "a", 1), (1, "a", 2), (1, "b", 1), (2, "b", 2)]


@pytest.mark.parametrize("engine", ENGINES)
def test_state_begins_anew_after_its_timeout_by_the_clock(engine: str) -> None:
    counts = source().key_by("key").update_state(lambda _, n: n + 1, initial=0, timeout=10)
    steps = [rows(("a", 1, 0.0)), ProcessingTime(9), rows(("a", 1, 0.0)), ProcessingTime(19)]
    made = replay(counts, steps=[*steps, rows(("a", 1, 0.0))], engine=engine)
    assert [row.values["state"] for row in made] == [1, 2, 1]


def test_a_state_whose_type_nothing_says_is_refused() -> None:
    with pytest.raises(PlanError, match="MS116"):
        source().key_by("key").update_state(lambda row, seen: seen, initial=[])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_that_is_older_than_the_newest_of_its_key_is_dropped(engine: str) -> None:
    steps = [rows(("a", 1, 5.0), ("a", 2, 4.0), ("b", 3, 1.0)), rows(("a", 4, 5.0), ("a", 5, 4.9))]
    made = replay(source().key_by("key").latest(), steps=steps, engine=engine)
    assert sorted(row.values["value"] for row in made) == [1, 3, 4]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample_has_each_so_manyth_row_of_a_key_over_all_batches(engine: str) -> None:
    steps = [rows(*((key, n, 0.0) for key in "ab")) for n in range(7)]
    made = replay(source().key_by("key").sample(every=3), steps=steps, engine=engine)
    assert sorted(row.values["value"] for row in made) == [0, 0, 3, 3, 6, 6]


def test_latest_needs_event_times_and_a_sample_a_whole_number() -> None:
    with pytest.raises(PlanError, match="MS115"):
        test_stream("key string").key_by("key").latest()
    with pytest.raises(PlanError, match="MS113"):
        source().sample(every=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_that_gets_into_the_top_replaces_the_least_one(engine: str) -> None:
    steps = [
        rows(("a", 3, 1.0), ("a", 9, 1.0), ("b", None, 1.0), ("a", 5, 2.0), ("b", 1, 1.0)),
        rows(("a", 5, 3.0), ("a", 4, 3.0), ("b", 9, 4.0)),
        rows(("b", 2, 5.0)),
    ]
    made = replay(source().key_by("key").top(2, by="value"), steps=steps, engine=engine)
    changes = [
        (row.step, row.values["key"], f"{row.values['kind']}{row.values['value']}", row.time)
        for row in made
    ]
    assert [change for change in changes if change[1] == "a"] == [
        (0, "a", "+3", 1.0),
        (0, "a", "+9", 1.0),
        (0, "a", "-3", 2.0),
        (0, "a", "+5", 2.0),  # of equal ones, the first stays: the other 5 does not get in
    ]
    assert [change for change in changes if change[1] == "b"] == [
        (0, "b", "+1", 1.0),
        (1, "b", "+9", 4.0),
        (2, "b", "-1", 5.0),
        (2, "b", "+2", 5.0),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_changes_of_a_top_leave_are_the_greatest_rows_of_all(engine: str) -> None:
    random = Random(7)
    given = [[(random.choice("ab"), random.randrange(100), 0.0) for _ in range(40)] for _ in "xyz"]
    top = source().key_by("key").top(5, by="value")
    made = replay(top, steps=[rows(*batch) for batch in given], engine=engine)
    for key in "ab":
        left: Counter[int] = Counter()
        for row in made:
            if row.values["key"] == key:
                left[row.values["value"]] += 1 if row.values["kind"] == "+" else -1
                assert min(left.values()) >= 0
        values = sorted(value for batch in given for name, value, _ in batch if name == key)
        assert sorted(left.elements()) == values[-5:]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_number_is_greater_than_any_number(engine: str) -> None:
    numbers = test_stream("value double")
    steps = [Elements([{"value": value} for value in (1.0, float("inf"), float("nan"), 2.0)])]
    made = replay(numbers.top(1, by="value"), steps=steps, engine=engine)
    kinds = [row.values["kind"] + str(row.values["value"]) for row in made]
    assert kinds == ["+1.0", "-1.0", "+inf", "-inf", "+nan"]


def test_a_top_by_what_has_no_order_or_of_no_rows_is_refused() -> None:
    lists = test_stream("tags array<int>, n int")
    with pytest.raises(PlanError, match="MS103.*top.by='tags'.: the column is ARRAY<INT>"):
        lists.top(2, by="tags")
    with pytest.raises(PlanError, match="MS113"):
        lists.top(0, by="n")
    with pytest.raises(PlanError, match="MS102"):
        lists.top(2, by="m")
    with pytest.raises(PlanError, match="MS110"):
        lists.top(2, by="n").top(1, by="n")


def test_the_state_of_a_top_is_of_its_column_and_may_get_shorter() -> None:
    def node(n: int, by: str) -> Any:
        (made,) = with_distinct_names(source().key_by("key").top(n, by=by).node)
        return made

    ((_, by_value),), ((_, by_time),) = node(2, "value").kept_parts, node(2, "at").kept_parts
    assert by_value != by_time  # so a resumed program that sorts by another column is refused
    for by_row in (True, False):
        longer, shorter = ColumnarProcess(node(3, "value")), ColumnarProcess(node(1, "value"))
        if by_row:
            shorter = ColumnarProcess(without_batch(shorter.node))
        shorter.states = longer.states
        longer.step({"rows": numbered(1, 2, 3)}, 0, 0)
        made = shorter.step({"rows": numbered(4)}, 0, 1).rows["rows"]
        kinds = [row.values["kind"] + str(row.values["value"]) for row in made]
        assert kinds == ["-1", "-2", "-3", "+4"]


def numbered(*values: int) -> list[Row]:
    return [
        Row({"key": "a", "value": value, "at": 0.0}, 0, "+", ("o", i))
        for i, value in enumerate(values)
    ]


def without_batch(node: Any) -> Any:
    return replace(node, processing=replace(node.processing, processor=_by_row(node)))


def test_update_state_takes_a_function_of_a_row_and_a_state() -> None:
    with pytest.raises(
        PlanError, match="MS113.*a row and a state, not <lambda>: missing a required"
    ):
        source().key_by("key").update_state(lambda key, value, state: state, initial=0)  # type: ignore[misc,arg-type]
    with pytest.raises(PlanError, match="MS113.*a row and a state, not 5"):
        source().key_by("key").update_state(5, initial=0)  # type: ignore[arg-type]


def test_keys_in_a_list_are_given_one_by_one() -> None:
    with pytest.raises(PlanError, match=r"MS112(.|\n)*give its parts one by one: 'key', 'value'"):
        source().deduplicate(["key", "value"], within="1h")
