"""cogroup() and join() in windows: what their rows are called, and what is refused."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.testing import Elements, Watermark, replay, test_stream

LEFT = test_stream("id bigint, name string, at double", event_time="at", name="left")
RIGHT = test_stream("user_id bigint, name string, at double", event_time="at", name="right")
MINUTE = ms.fixed("1m")


def names(**options):
    met = LEFT.window(MINUTE).join(RIGHT.window(MINUTE), **options)
    return met.schema.names[:-2]


def refused(code, function):
    with pytest.raises(PlanError) as error:
        function()
    assert error.value.code == code
    return error.value


def test_keys_come_once_and_names_of_the_left_side_get_a_suffix_on_the_right():
    assert names(on=("id", "user_id")) == ("id", "name", "at", "name_right", "at_right")
    assert names(on="name") == ("name", "id", "at", "user_id", "at_right")
    assert names(on=["name", ("id", "user_id")]) == ("name", "id", "at", "at_right")
    assert names(on="name", suffix="_2") == ("name", "id", "at", "user_id", "at_2")


WIDE = test_stream("id bigint, at double", event_time="at", name="wide")
NARROW = test_stream("id int, since double", event_time="since", name="narrow")


@pytest.mark.parametrize(
    "met",
    [
        NARROW.window(MINUTE).join(WIDE.window(MINUTE), on="id", how="full"),
        WIDE.window(MINUTE).join(NARROW.window(MINUTE), on="id"),
        NARROW.interval_join(WIDE, on="id", between=(-5, 5), how="full"),
        NARROW.join(WIDE, on="id", how="full", unbounded_state=True),
        NARROW.temporal_join(WIDE, on="id"),
    ],
)
def test_a_key_of_integers_of_two_sizes_has_the_larger_one(met):
    assert next(str(field) for field in met.schema) == "id BIGINT"
    assert list(met.schema.names[:3]) in (["id", "since", "at"], ["id", "at", "since"])


@pytest.mark.parametrize("engine", ["reference", "columnar"])
def test_integers_of_two_sizes_meet(engine):
    met = NARROW.window(MINUTE).join(WIDE.window(MINUTE), on="id", how="full").select("id", "at")
    steps = [
        Elements([(1, 1.0)], source="narrow"),
        Elements([(1, 2.0), (2**40, 3.0)], source="wide"),
        Watermark.end(),
    ]
    rows = [row.values for row in replay(met, steps=steps, engine=engine)]
    assert sorted(rows, key=str) == [{"id": 1, "at": 2.0}, {"id": 2**40, "at": 3.0}]


def test_an_expression_is_a_key_beside_the_columns_it_is_made_of():
    joined = names(on=("lower(name) AS key", "lower(name)"))
    assert joined == ("key", "id", "name", "at", "user_id", "name_right", "at_right")


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_semi_or_anti_join_has_the_columns_of_the_left_side(how):
    assert names(on="name", how=how) == ("name", "id", "at")


def test_the_window_pane_and_kind_of_earlier_groupings_are_left_out():
    counts = LEFT.key_by("name").window(MINUTE).refine(ms.retracting).aggregate(n=ms.count())
    again = counts.window(MINUTE).refine(ms.accumulating)
    met = again.join(RIGHT.window(MINUTE), on="name")
    assert met.schema.names == ("name", "n", "user_id", "at", "window", "pane")


def test_streams_that_are_keyed_need_no_on():
    left, right = LEFT.key_by("id").window(MINUTE), RIGHT.key_by("user_id").window(MINUTE)
    assert left.join(right).schema.names[:2] == ("id", "name")
    twice = refused("MS113", lambda: left.join(right, on="name"))
    assert "twice" in twice.what


def test_late_rows_are_under_the_name_of_their_side():
    met = LEFT.window(MINUTE).join(RIGHT.window(MINUTE), on="name", where="id > user_id")
    assert met.late.schema.names == ("left", "right", "window", "reason")


def test_rows_of_a_cogroup_are_lists_under_their_names():
    both = ms.cogroup(
        one=LEFT.key_by("id").window(MINUTE), two=RIGHT.key_by("user_id").window(MINUTE)
    )
    assert str(both.schema.find("two")) == (
        "two ARRAY<STRUCT<user_id: BIGINT, name: STRING, at: DOUBLE>>"
    )
    assert both.schema.names == ("id", "one", "two", "window", "pane")


def test_keys_of_other_types_or_numbers_are_refused():
    error = refused("MS134", lambda: names(on=("id", "name")))
    assert error.fix == "give both one type: on=('id', 'CAST(name AS BIGINT)')"
    left, right = LEFT.key_by("id", "name").window(MINUTE), RIGHT.key_by("name").window(MINUTE)
    assert "2 keys" in refused("MS134", lambda: ms.cogroup(a=left, b=right)).what


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        (LEFT.window(MINUTE), RIGHT, "'right' has no window"),
        (LEFT, RIGHT.window(MINUTE), "'left' has no window"),
        (LEFT.window(MINUTE), RIGHT.window(ms.fixed("2m")), "windows of ms.fixed('2m')"),
        (LEFT.window(MINUTE, 5), RIGHT.window(MINUTE, 7), "allowed_lateness is 5000000"),
    ],
)
def test_sides_that_are_windowed_in_different_ways_are_refused(left, right, says):
    error = refused("MS135", lambda: left.refine(ms.accumulating).join(right, on="name"))
    assert says in f"{error.what}; {error.fix}"


def test_what_one_side_says_of_when_and_how_is_for_both():
    often = ms.repeatedly(ms.after_count(3))
    right = RIGHT.window(MINUTE).trigger(often).refine(ms.retracting)
    node = LEFT.window(MINUTE, allowed_lateness="1m").join(right, on="name").node
    windowing = node.windowing
    assert (windowing.trigger, windowing.refine) == (often, ms.retracting)
    assert windowing.allowed_lateness == 60_000_000


@pytest.mark.parametrize(
    "left",
    [
        LEFT.window(MINUTE, allowed_lateness="1m"),
        LEFT.window(MINUTE).trigger(ms.repeatedly(ms.after_count(2))),
        LEFT.window(MINUTE).trigger(ms.at_watermark(early=ms.after_count(2))),
    ],
)
def test_a_join_that_would_lose_pairs_is_refused(left):
    assert "pairs" in refused("MS136", lambda: left.join(RIGHT.window(MINUTE), on="name")).fix
    left.refine(ms.accumulating).join(RIGHT.window(MINUTE), on="name")


def test_losing_pairs_may_be_meant():
    often = ms.repeatedly(ms.after_count(2))
    left = LEFT.window(MINUTE).trigger(often, allow_data_loss=True)
    left.join(RIGHT.window(MINUTE), on="name")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"on": "nobody"}, "MS102"),
        ({"on": "name", "how": "outer"}, "MS113"),
        ({"on": "name", "where": "id"}, "MS112"),
        ({"on": "name", "where": "other > 1"}, "MS102"),
        ({"on": "lower(name)"}, "MS112"),
        ({"on": []}, "MS113"),
        ({"on": ("id", "user_id", "name")}, "MS113"),
        ({"on": "name", "suffix": None}, "MS113"),
        ({}, "MS113"),
    ],
)
def test_other_mistakes_are_found_when_the_join_is_made(options, code):
    refused(code, lambda: names(**options))


def test_a_column_whose_name_is_taken_with_its_suffix_is_refused():
    left = LEFT.with_columns(name_right="name")
    error = refused("MS133", lambda: left.window(MINUTE).join(RIGHT.window(MINUTE), on="at"))
    assert "'name_right' is there already" in error.what


def test_retractions_into_a_discarding_join_are_refused():
    often = LEFT.key_by("name").window(MINUTE).trigger(ms.repeatedly(ms.after_count(1)))
    counts = often.refine(ms.retracting).aggregate(n=ms.count())
    error = refused("MS110", lambda: counts.window(MINUTE).join(RIGHT.window(MINUTE), on="name"))
    assert "before join(…)" in error.fix


def test_only_streams_are_joined_and_cogrouped():
    refused("MS113", lambda: LEFT.window(MINUTE).join([1], on="name"))
    refused("MS113", lambda: ms.cogroup(one=LEFT, two=[1]))
    assert "two streams" in refused("MS113", lambda: ms.cogroup(one=LEFT)).what


def test_the_plan_shows_what_is_joined(capsys):
    met = LEFT.window(MINUTE).join(
        RIGHT.window(MINUTE), on=("id", "user_id"), how="left", where="name <> name_right"
    )
    met.explain()
    plan = capsys.readouterr().out
    assert "key of left   id" in plan
    assert "key of right  id = user_id" in plan
    assert "left join where name <> name_right" in plan
