"""The small forms of process give the same on all engines, and what their methods promise."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.testing import Elements, ProcessingTime, Watermark, check_forms, replay, test_stream
from millstream.testing.forms import random_steps

ENGINES = ["reference", "columnar"]


def source() -> ms.Stream:
    return test_stream("key string, value int, at double", event_time="at")


def rows(*given: tuple[Any, ...]) -> Elements:
    return Elements([dict(zip(("key", "value", "at"), row, strict=True)) for row in given])


FORMS = {
    "latest": source().key_by("key").latest(),
    "sample": source().key_by("key").sample(every=3),
    "deduplicate": source().deduplicate("key", within=4),
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


@pytest.mark.parametrize("form", ["deduplicate", "latest", "sample"])
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
