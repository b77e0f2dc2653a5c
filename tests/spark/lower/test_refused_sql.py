"""What Spark refuses of a step's SQL is refused with the step's own text."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.nodes import walk
from millstream.spark.lower.refused_sql import accepted
from millstream.spark.lower.sql_listing import _FIRST, Listing

LISTING = Listing(walk(ms.from_rows([], "n int").filter("n > 1").with_columns(m="upper(n)").node))
TEXT = '[DATATYPE_MISMATCH] Cannot resolve "upper(n)". Use another. SQLSTATE: 42K09; line {} pos 0'


def test_a_line_leads_back_to_the_expression_and_what_spark_advises_is_left_out():
    with pytest.raises(PlanError, match="MS125") as caught, accepted(LISTING):
        raise AnalysisException(TEXT.format(_FIRST + 1))
    why = 'Cannot resolve "upper(n)"'
    assert caught.value.what == f"column 'm', UPPER(n), is refused by Spark: {why}"


def test_a_line_that_is_of_no_step_still_says_why():
    with (
        pytest.raises(PlanError, match='MS125: Spark refuses it: Cannot resolve "upper'),
        accepted(LISTING),
    ):
        raise AnalysisException(TEXT.format(3))


def test_any_other_error_stays_what_it_is():
    with pytest.raises(ValueError, match="of another kind"), accepted(LISTING):
        raise ValueError("of another kind")
