"""Settings are collected without a stream, and each operator takes those that it uses."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.build.grouping import grouping
from millstream.plan.build.steps import select
from millstream.plan.settings import Settings

ROWS = ms.from_rows([("red", 3, 10.0)], "team string, points int, at double", event_time="at").node


def test_a_front_door_without_streams_makes_the_same_grouping() -> None:
    settings = Settings().key_by(ROWS, ("team",), {}).window(ms.fixed("1m"), "10s")
    node = grouping(ROWS, settings.refine(ms.retracting), {"total": ms.sum("points")})
    assert [name for name, _ in node.keys] == ["team"]
    assert (node.windowing.window, node.windowing.allowed_lateness) == (ms.fixed("1m"), 10_000_000)
    assert node.schema.names == ("team", "total", "window", "pane", "kind")


def test_settings_are_true_once_anything_is_set() -> None:
    assert not Settings()
    assert not Settings().refine(ms.discarding), "the default"
    assert Settings().trigger(ms.never())
    assert Settings().key_by(ROWS, (), {"half": "points / 2"})


@pytest.mark.parametrize(
    ("method", "given"), [("window", "1m"), ("trigger", "always"), ("refine", "replacing")]
)
def test_each_answer_is_checked(method: str, given: str) -> None:
    with pytest.raises(PlanError, match=f"MS113: {method} takes"):
        getattr(Settings(), method)(given)


def test_keys_are_read_from_the_rows_of_a_new_step_which_must_have_their_columns() -> None:
    settings = Settings().key_by(ROWS, ("team",), {})
    assert settings.over(select(ROWS, ("team",), {})).keys == settings.keys
    with pytest.raises(PlanError, match="MS102 in step 'select-1': the key 'team' reads column"):
        settings.over(select(ROWS, ("points",), {}))


def test_settings_of_a_union_are_those_on_which_its_parts_agree() -> None:
    keyed, windowed = Settings().key_by(ROWS, ("team",), {}), Settings().window(ms.fixed("1m"))
    assert keyed.united(Settings(), windowed) == Settings(keyed.keys, windowed.windowing)
    with pytest.raises(PlanError, match="MS117: the streams of the union"):
        windowed.united(Settings().window(ms.fixed("2m")))
