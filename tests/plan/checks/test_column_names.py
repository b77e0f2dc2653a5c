"""MS108: the columns of a result have names of their own."""

from __future__ import annotations

import pytest

import millstream as ms

ROWS = ms.from_rows([], schema="team string, points int")


def test_an_aggregate_may_not_be_called_like_a_key() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ROWS.key_by("team").aggregate(Team=ms.count())
    assert (caught.value.code, caught.value.step) == ("MS108", "aggregate-1")
    assert caught.value.what == "two columns of the result are called 'Team'"
    assert caught.value.fix == "give yours another name, such as Team_2=…"


@pytest.mark.parametrize("name", ["window", "pane", "Window"])
def test_an_aggregate_may_not_be_called_like_a_column_of_every_grouping(name: str) -> None:
    with pytest.raises(ms.PlanError, match="MS108 .*a grouping adds 'window' and 'pane'"):
        ROWS.aggregate(**{name: ms.count()})


def test_kind_is_taken_only_in_a_retracting_grouping() -> None:
    ROWS.aggregate(kind=ms.count())
    with pytest.raises(ms.PlanError, match="MS108 .*'kind'"):
        ROWS.refine(ms.retracting).aggregate(kind=ms.count())


def test_keys_have_names_of_their_own() -> None:
    with pytest.raises(ms.PlanError, match="MS108 in step 'aggregate-1'"):
        ROWS.key_by("team", team="upper(team)")
    ROWS.key_by("team", upper="upper(team)")


def test_selected_columns_have_names_of_their_own() -> None:
    with pytest.raises(ms.PlanError, match="MS108 in step 'select-1'"):
        ROWS.select("team", "points AS TEAM")


def test_columns_of_a_grouping_are_not_blamed_where_there_is_none() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ROWS.select("team AS window", "points AS window")
    assert caught.value.what == "two columns of the result are called 'window'"
    assert caught.value.fix == "give yours another name, such as window_2=…"
