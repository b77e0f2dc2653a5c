"""MS110: only what can take results back may follow a retracting grouping without remembering."""

from __future__ import annotations

import pytest

import millstream as ms

ROWS = ms.from_rows([], schema="k string, n int")
RETRACTING = ROWS.key_by("k").refine(ms.retracting).aggregate(total=ms.sum("n")).named("totals")


def test_a_discarding_maximum_over_retractions_is_refused() -> None:
    with pytest.raises(ms.PlanError) as caught:
        RETRACTING.aggregate(best=ms.max("total"))
    assert str(caught.value) == (
        "MS110 in step 'aggregate-1': 'totals' takes results back, but best = max(total) is "
        "discarding (the default) and has forgotten what it would have to undo\n"
        "  What to do: write .refine(ms.accumulating) or .refine(ms.retracting) "
        "before aggregate(…)\n"
        "  More: millstream help MS110"
    )


@pytest.mark.parametrize("refinement", [ms.accumulating, ms.retracting])
def test_a_grouping_that_remembers_takes_retractions(refinement: object) -> None:
    RETRACTING.refine(refinement).aggregate(best=ms.max("total"))  # type: ignore[arg-type]


def test_counts_and_sums_add_up_even_when_discarding() -> None:
    RETRACTING.aggregate(n=ms.count(), total=ms.sum("total"))


def test_one_aggregate_that_does_not_add_up_is_enough() -> None:
    with pytest.raises(ms.PlanError, match=r"MS110 .* mean = mean\(total\)"):
        RETRACTING.aggregate(n=ms.count(), mean=ms.mean("total"))


def test_stateless_steps_and_unions_pass_retractions_on() -> None:
    passed = RETRACTING.filter("total > 0").with_columns(twice="total * 2").select("twice")
    others = ROWS.select("cast(n AS bigint) AS twice")
    for stream in (passed, others.union(passed), passed.map(dict, schema="twice bigint")):
        with pytest.raises(ms.PlanError, match="MS110 .*'totals' takes results back"):
            stream.aggregate(best=ms.max("twice"))


@pytest.mark.parametrize("refinement", [ms.discarding, ms.accumulating])
def test_other_refinements_retract_nothing(refinement: object) -> None:
    totals = ROWS.key_by("k").refine(refinement).aggregate(total=ms.sum("n"))  # type: ignore[arg-type]
    totals.aggregate(best=ms.max("total"))


def test_a_grouping_in_between_takes_them_up() -> None:
    between = RETRACTING.refine(ms.accumulating).aggregate(best=ms.max("total"))
    between.aggregate(worst=ms.min("best"))


def test_late_rows_of_a_retracting_grouping_are_rows_of_its_input() -> None:
    RETRACTING.late.aggregate(first=ms.first("n"))
    bare = RETRACTING.drop("window", "pane").refine(ms.accumulating)
    late = bare.aggregate(best=ms.max("total")).late
    with pytest.raises(ms.PlanError, match="MS110"):
        late.aggregate(first=ms.first("total"))


def test_rejected_rows_are_never_taken_back() -> None:
    RETRACTING.rejected.aggregate(first=ms.first("reason"))


@pytest.mark.parametrize("refine", [ms.discarding, ms.accumulating, ms.retracting])
def test_a_sketch_takes_nothing_that_may_be_taken_back(refine) -> None:
    grouped = RETRACTING.drop("window", "pane").refine(refine)
    for name, aggregate, exact in (
        ("users", ms.approx_distinct("total"), ms.count_distinct),
        ("half", ms.approx_quantile("total", 0.5), ms.quantile),
    ):
        with pytest.raises(ms.PlanError) as caught:
            grouped.aggregate(**{name: aggregate})
        assert f"but {name} = {aggregate!r} is a sketch, which cannot remove a value" in str(
            caught.value
        )
        assert f"write ms.{exact.__name__}(…), which keeps the values" in str(caught.value)
        grouped.refine(ms.accumulating).aggregate(**{name: exact("total")})
