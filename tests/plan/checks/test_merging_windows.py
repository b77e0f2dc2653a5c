"""MS107: windows merge only within their grouping."""

from __future__ import annotations

import pytest

import millstream as ms

ROWS = ms.from_rows([], schema="k string, n int, at timestamp", event_time="at")
SESSIONS = ROWS.key_by("k").window(ms.session("30m"))


def test_a_combine_in_sessions_needs_no_function_that_merges() -> None:
    longest = ms.combine("n", create=int, add=max, extract=int, returns="int")
    SESSIONS.aggregate(longest=longest)


def test_sessions_are_not_carried_on_to_the_next_grouping() -> None:
    lengths = SESSIONS.aggregate(n=ms.count()).named("visits").filter("n > 1")
    with pytest.raises(ms.PlanError) as caught:
        lengths.aggregate(longest=ms.max("n"))
    assert (caught.value.code, caught.value.step) == ("MS107", "aggregate-1")
    assert caught.value.what == (
        "this grouping over the sessions of 'visits' has no window of its own"
    )
    assert caught.value.fix == (
        "say where again: .window(ms.session('30m')), or .window(ms.global_window()) "
        "for all of time"
    )


@pytest.mark.parametrize("window", [ms.session("30m"), ms.fixed("1h"), ms.global_window()])
def test_a_grouping_over_sessions_says_its_own_window(window: object) -> None:
    SESSIONS.aggregate(n=ms.count()).window(window).aggregate(longest=ms.max("n"))  # type: ignore[arg-type]


def test_a_union_of_sessions_with_other_rows_is_still_over_sessions() -> None:
    sessions = SESSIONS.aggregate(n=ms.count()).select("n")
    with pytest.raises(ms.PlanError, match="MS107"):
        ROWS.select("cast(n AS bigint) AS n").union(sessions).aggregate(longest=ms.max("n"))


def test_fixed_windows_and_late_rows_of_sessions_need_no_new_window() -> None:
    ROWS.window(ms.fixed("1m")).aggregate(n=ms.count()).aggregate(longest=ms.max("n"))
    SESSIONS.aggregate(n=ms.count()).late.aggregate(lost=ms.count())
