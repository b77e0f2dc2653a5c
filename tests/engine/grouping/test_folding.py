"""Which accumulator folds which aggregate: each its own, and none where elements are needed."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.engine.grouping import accumulators, sketches
from millstream.engine.grouping.folding import accumulator

FOLDED = {
    ms.count(): accumulators.Count("value", None),
    ms.sum("n"): accumulators.Sum("value", "of"),
    ms.min("n"): accumulators.Extreme("value", "of", greatest=False),
    ms.max("n"): accumulators.Extreme("value", "of", greatest=True),
    ms.any_value("n"): accumulators.Extreme("value", "of", greatest=False),
    ms.mean("n"): accumulators.Mean("value", "of"),
    ms.variance("n"): accumulators.Variance("value", "of", root=False),
    ms.stddev("n"): accumulators.Variance("value", "of", root=True),
    ms.first("n"): accumulators.Edge("value", "of", latest=False),
    ms.last("n"): accumulators.Edge("value", "of", latest=True),
    ms.approx_distinct("n"): sketches.Distinct("value", "of"),
    ms.approx_quantile("n", 0.9): sketches.Quantile("value", "of", 0.9),
}


@pytest.mark.parametrize("aggregate", FOLDED, ids=repr)
def test_each_aggregate_has_the_accumulator_that_computes_it(aggregate):
    expected = FOLDED[aggregate]
    of = None if isinstance(expected, accumulators.Count) else "of"
    made = accumulator(aggregate, "value", of)
    assert (type(made), vars(made)) == (type(expected), vars(expected))


@pytest.mark.parametrize(
    "aggregate",
    [
        ms.collect("n"),
        ms.collect_set("n"),
        ms.count_distinct("n"),
        ms.quantile("n"),
        ms.top(2, by="n"),
    ],
    ids=repr,
)
def test_what_needs_the_elements_themselves_has_none(aggregate):
    assert accumulator(aggregate, "value", "of") is None
