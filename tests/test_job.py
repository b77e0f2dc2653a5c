"""Jobs hand out the rows of their sinks."""

from __future__ import annotations

import pytest

import millstream as ms

ROWS = ms.from_rows([(1,), (2,)], schema="n int")
JOB = ms.pipeline(ROWS.collect("all"), ROWS.filter("n > 1").collect("big")).run("numbers")


def test_rows_are_those_of_the_sink_that_is_named() -> None:
    assert JOB.rows("big") == [{"n": 2}]
    assert ROWS.collect("all").run().rows() == [{"n": 1}, {"n": 2}]


def test_one_of_several_sinks_must_be_named() -> None:
    with pytest.raises(ms.PlanError) as caught:
        JOB.rows()
    assert caught.value.what == "job 'numbers' has several sinks"
    assert caught.value.fix == "name one: rows('all') or rows('big')"


def test_an_unknown_sink_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="MS113: job 'numbers' has no sink 'bigg'") as caught:
        JOB.rows("bigg")
    assert caught.value.fix == "did you mean 'big'? There are: all, big"
