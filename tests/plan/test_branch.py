"""branch(): each row is in the first output whose condition is true, and the input is read once."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.physical.plan import physical
from millstream.plan.branch import Branch

TEXTS = ms.from_rows([("7",), ("x",), ("2",), (None,)], schema="text string", name="texts")
NUMBERS = ms.from_rows([(0,), (4,), (60,), (None,)], schema="n int", name="numbers")


def rows_of(**outputs):
    """The values that each stream has, run by the reference in one program."""
    job = ms.pipeline(*(stream.collect(name) for name, stream in outputs.items())).run()
    return {name: [next(iter(row.values())) for row in job.rows(name)] for name in outputs}


def test_a_row_is_in_the_first_output_whose_condition_is_true():
    parts = NUMBERS.branch(huge="n > 50", big="n > 3", rest=True)
    made = rows_of(huge=parts.huge, big=parts.big, rest=parts.rest)
    assert made == {"huge": [60], "big": [4], "rest": [0, None]}


def test_rows_that_nothing_takes_are_dropped():
    big, small = NUMBERS.branch(big="n > 3", small="n <= 3")
    assert rows_of(big=big, small=small) == {"big": [4, 60], "small": [0]}


def test_a_condition_after_one_that_is_true_is_not_computed():
    parts = NUMBERS.branch(zero="n = 0", divides="60 % n = 0", rest=True)
    made = rows_of(zero=parts.zero, divides=parts.divides, rest=parts.rest)
    assert made == {"zero": [0], "divides": [4, 60], "rest": [None]}


def test_a_row_on_which_a_condition_fails_is_rejected_once_for_all_outputs():
    parts = TEXTS.branch(big="CAST(text AS INT) > 3", rest=True, on_error="reject")
    bad = parts.big.union(parts.rest).rejected.select("record")
    assert rows_of(big=parts.big, rest=parts.rest, bad=bad) == {
        "big": ["7"],
        "rest": ["2", None],
        "bad": ['{"text":"x"}'],
    }


def test_such_a_row_is_dropped_or_ends_the_program_as_it_is_said():
    condition = "CAST(text AS INT) > 3"
    dropped = TEXTS.branch(big=condition, rest=True, on_error="drop")
    assert rows_of(rest=dropped.rest) == {"rest": ["2", None]}
    with pytest.raises(ms.RunError, match="MS219 in step 'branch-1': the branch, CASE WHEN CAST"):
        rows_of(rest=TEXTS.branch(big=condition, rest=True).rest)


def test_outputs_have_the_columns_and_settings_of_their_input():
    stream = ms.from_rows([(1, "x")], schema="n int, branch string").key_by("branch")
    part = stream.branch(one="n = 1", other="branch = 'x'").other
    assert part.schema == stream.schema
    assert part.settings.keys == stream.settings.keys


def test_the_input_and_the_conditions_are_computed_once_for_all_outputs():
    parts = NUMBERS.branch(huge="n > 50", big="n > 3", rest=True)
    program = ms.pipeline(*(part.write_console(name=f"{i}") for i, part in enumerate(parts)))
    plan = physical(program.sinks)
    (branch,) = [i for i in plan.instances if isinstance(i.node, Branch)]
    (source,) = [i for i in plan.instances if i.node.name == "numbers"]
    assert source.consumers == [branch]
    assert [each.node.condition.text for each in branch.consumers] == [
        "branch = 'huge'",
        "branch = 'big'",
        "branch = 'rest'",
    ]
    assert plan.stages == 1


def test_a_plan_shows_the_condition_of_each_output(capsys):
    NUMBERS.branch(big="n>3", rest=True, on_error="reject").big.explain()
    text = capsys.readouterr().out
    assert "big      n > 3\n" in text
    assert "rest     the rest\n" in text
    assert "failing  a row of which a condition cannot be computed is rejected\n" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "MS113 in step 'branch-1': branch.. has no condition"),
        ({"rest": True}, "MS113 .* has no condition"),
        ({"rest": True, "big": "n > 3"}, "MS113 .* rest=True takes all rows"),
        ({"big one": "n > 3"}, "MS113 .* 'big one' cannot be the name"),
        ({"_big": "n > 3"}, "MS113 .* '_big' cannot be the name"),
        ({"big": "n"}, "MS112 .* the condition 'n' is INT, not true or false"),
        ({"big": "m > 3"}, "MS102 .* no column 'm'"),
        ({"big": False}, "MS112 .* False is no expression"),
    ],
)
def test_what_cannot_work_is_refused(given, message):
    with pytest.raises(PlanError, match=message):
        NUMBERS.branch(**given)


def test_a_column_of_pyspark_is_refused_with_what_to_write():
    class Column:
        __module__ = "pyspark.sql.column"

    with pytest.raises(PlanError, match="MS112 .* is a PySpark Column"):
        NUMBERS.branch(big=Column())


def test_a_branch_that_does_not_exist_is_named_with_those_that_do():
    parts = NUMBERS.branch(big="n > 3", rest=True)
    with pytest.raises(AttributeError, match="no branch 'bigg': did you mean 'big'"):
        _ = parts.bigg
    assert dir(parts) == ["big", "rest"]
    assert repr(parts) == "<Branches: big, rest>"


def test_a_condition_on_kind_is_refused_before_a_grouping():
    totals = ms.from_rows([(1, 1.0)], schema="n int, at double", event_time="at")
    totals = totals.window(ms.fixed(10)).refine(ms.retracting).aggregate(n=ms.sum("n"))
    part = totals.branch(back="kind = '-'", rest=True).rest
    with pytest.raises(PlanError, match="MS110 .*'branch-1' reads kind"):
        part.drop("window", "pane").aggregate(n=ms.count())
