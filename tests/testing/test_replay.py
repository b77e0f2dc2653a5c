"""Replays raise errors for what they cannot read."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import TestingError
from millstream.testing import Elements, ProcessingTime, Watermark, replay, test_stream

SCHEMA = "user string, at double"
COUNTS = (
    test_stream(SCHEMA, event_time="at", name="clicks")
    .key_by("user")
    .window(ms.fixed(10))
    .aggregate(n=ms.count())
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Watermark("yesterday"),
        lambda: Watermark("2024-05-01T12:00:00"),
        lambda: ProcessingTime(float("nan")),
        lambda: replay(window=ms.fixed(10), steps=[Elements([("k", 1, "noon")])]),
    ],
)
def test_an_invalid_time_is_an_error_as_everywhere(make: Any) -> None:
    with pytest.raises(ms.PlanError, match="MS118"):
        make()


def test_what_is_not_a_step_is_an_error() -> None:
    with pytest.raises(TestingError, match=r"MS301: step 0 is \('k', 1, 3\), which is no step"):
        replay(window=ms.fixed(10), steps=[("k", 1, 3)])  # type: ignore[list-item]


@pytest.mark.parametrize("row", [{"user": "ann", "at": 3}, ("ann", 3.0)])
def test_elements_for_a_stream_are_rows_in_any_form(row: Any) -> None:
    (pane,) = replay(COUNTS, steps=[Elements([row]), Watermark.end()])
    assert (pane.key, pane.value) == ("ann", 1)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"user": "ann"}, "has no column 'at'"),
        ({"user": "ann", "at": 3, "team": "red"}, "has a column 'team' too many"),
        ({"user": 3, "at": 3}, "has 3 in column 'user', which does not fit STRING"),
        (("ann", 1, 3.0), "3 values, which is no row"),
        (3, "is 3, which is no row"),
    ],
)
def test_a_row_that_does_not_fit_its_source_is_named(row: Any, says: str) -> None:
    good = {"user": "ann", "at": 3}
    with pytest.raises(ms.RunError) as caught:
        replay(COUNTS, steps=[Watermark(1), Elements([good, row])])
    assert (caught.value.code, caught.value.step) == ("MS202", "clicks")
    assert caught.value.what.startswith("element 1 of steps[1] ")
    assert says in caught.value.what


def test_a_source_must_be_named_where_there_are_several() -> None:
    one, two = (test_stream(SCHEMA, event_time="at", name=name) for name in ("one", "two"))
    both = one.union(two).window(ms.fixed(10)).aggregate(n=ms.count())
    with pytest.raises(TestingError, match="name one: source='one' or source='two'"):
        replay(both, steps=[Elements([])])
    with pytest.raises(TestingError, match="did you mean 'two'"):
        replay(both, steps=[Watermark(3, source="twoo")])


def test_sources_without_a_name_are_numbered_as_in_a_pipeline() -> None:
    one, two = test_stream(SCHEMA, event_time="at"), test_stream(SCHEMA, event_time="at")
    both = one.union(two).window(ms.fixed(10)).aggregate(n=ms.count())
    with pytest.raises(TestingError, match="name one: source='test-1' or source='test-2'"):
        replay(both, steps=[Elements([])])
    steps = [Elements([("ann", 3.0)], source="test-2"), Watermark.end()]
    assert [pane.value for pane in replay(both, steps=steps)] == [1]


@pytest.mark.parametrize(
    ("aggregate", "code"),
    [(ms.sum("points"), "MS102"), (ms.sum("value +"), "MS112"), (3, "MS113"), (ms.sum(), "MS201")],
)
def test_an_aggregate_that_cannot_be_computed_is_an_error(aggregate: Any, code: str) -> None:
    with pytest.raises(ms.MillstreamError, match=f"^{code}"):
        replay(
            window=ms.fixed(10),
            steps=[Elements([("k", "text", 3)]), Watermark.end()],
            aggregate=aggregate,
        )


def test_a_pipeline_is_not_replayed_but_its_stream_is() -> None:
    with pytest.raises(TestingError, match="MS301: replay.* not <Pipeline: 'counts'>"):
        replay(COUNTS.collect("counts"), steps=[])  # type: ignore[arg-type]


def test_an_unknown_argument_is_named_with_the_nearest_one() -> None:
    with pytest.raises(TestingError, match="MS301.*'lateness'") as caught:
        replay(window=ms.fixed(10), steps=[], lateness=3)  # type: ignore[call-arg]
    assert "allowed_lateness" in caught.value.fix


def test_an_aggregate_that_was_not_called_is_an_error() -> None:
    with pytest.raises(ms.PlanError, match="MS113") as caught:
        replay(window=ms.fixed(10), steps=[], aggregate=ms.sum)
    assert "ms.sum('value')" in caught.value.fix
