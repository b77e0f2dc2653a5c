"""Spark SQL in programs: its functions, and what happens when Spark refuses or fails."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import millstream as ms
from millstream.plan.build.file_options import READER
from millstream.plan.sql.spark_functions import spark_functions
from millstream.plan.targets import FileFormat


def test_the_known_functions_are_those_of_spark(spark: SparkSession) -> None:
    listed = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert spark_functions() == {name for name in listed if name.isidentifier()}


@pytest.mark.parametrize(
    ("format", "reader"),
    [
        ("csv", "catalyst.csv.CSVOptions"),
        ("json", "catalyst.json.JSONOptions"),
        ("parquet", "execution.datasources.parquet.ParquetOptions"),
        ("text", "execution.datasources.text.TextOptions"),
    ],
)
def test_the_known_options_of_files_are_those_of_spark(
    spark: SparkSession, format: FileFormat, reader: str
) -> None:
    jvm: Any = spark._jvm
    names = attrgetter(f"org.apache.spark.sql.{reader}")(jvm).getAllOptions()
    listed = jvm.scala.jdk.javaapi.CollectionConverters.asJava(names)
    assert READER[format] == {name for name in listed if "." not in name}


def test_a_registered_function_is_called_by_its_name_in_the_session(spark: SparkSession) -> None:
    spark.udf.register("twice", lambda n: 2 * n, "int")
    numbers = ms.from_rows([(1,), (2,)], schema="n int")
    job = numbers.with_columns(double="session.twice(n)").collect().run(spark=spark)
    assert job.rows() == [{"n": 1, "double": 2}, {"n": 2, "double": 4}]


FAILURES = [
    ("10 / n", "DIVIDE", "Division by zero", "try_divide"),
    ("1 + n % 0", "REMAINDER", "Remainder by zero", "try_mod"),
    (
        "cast(s AS int)",
        "CAST",
        'The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed',
        "try_cast",
    ),
    ("1 + big", "OVERFLOW", "overflow", "try_add"),
    (
        "a[n + 3]",
        "INDEX",
        "The index 3 is out of bounds. The array has 2 elements",
        "get(array, index)",
    ),
    ("to_timestamp(s, 'yyyy')", "PARSE", "Text 'x' could not be parsed at index 0", "try_to_tim"),
    ("make_date(2024, n + 13, 1)", "FIELD", "Invalid value for MonthOfYear", "cannot fail"),
    ("raise_error('no ' || s)", "RAISED", "no x", "cannot fail"),
]
ROWS = ms.from_rows(
    [("x", 0, [1, 2], 2**63 - 1)], schema="s string, n int, a array<int>, big bigint"
)


@pytest.mark.parametrize(("text", "kind", "why", "instead"), FAILURES)
def test_sql_that_fails_on_a_row_names_the_step_the_expression_and_a_way_out(
    spark: SparkSession, text: str, kind: str, why: str, instead: str
) -> None:
    fine = ROWS.filter("n = 0").with_columns(other="n + 1")
    failing = fine.select("s", value=text).named("risky").collect()
    with pytest.raises(ms.RunError) as caught:
        failing.run(spark=spark, mode="batch")
    error = caught.value
    assert (error.code, error.step) == ("MS219", "risky" if kind in _NAMED else None)
    assert text.split("(")[0].lower() in error.what.lower()
    assert why in error.what
    assert instead in error.fix
    assert 'on_error="reject"' in error.fix
    assert error.__cause__ is None
    assert error.__context__ is not None


_NAMED = ("DIVIDE", "REMAINDER", "CAST", "OVERFLOW", "INDEX")
"""Where Spark tells of which expression its error is."""


def test_the_step_of_a_failure_is_found_among_steps_with_equal_sql(spark: SparkSession) -> None:
    first = ms.from_rows([("1",)], schema="s string").with_columns(n="cast(s AS int)")
    second = first.with_columns(s="'x'").with_columns(n="cast(s AS int)").named("second")
    with pytest.raises(ms.RunError, match="MS219 in step 'second': column 'n', CAST"):
        second.key_by("n").aggregate(rows=ms.count()).collect().run(spark=spark, mode="streaming")


def test_what_fails_in_a_key_a_condition_or_an_aggregate_is_named(spark: SparkSession) -> None:
    programs = {
        "the condition, 1 / n > 0,": ROWS.filter("1 / n > 0").collect(),
        "the key 'k', 1 / n,": ROWS.key_by(k="1 / n").aggregate(c=ms.count()).collect(),
        "sum(1 / n), 1 / n,": ROWS.aggregate(c=ms.sum("1 / n")).collect(),
    }
    for what, program in programs.items():
        with pytest.raises(ms.RunError, match="MS219") as caught:
            program.run(spark=spark, mode="batch")
        part = " at 1 / n" if ">" in what else ""
        assert caught.value.what == f"{what} cannot be computed{part}: Division by zero"
        with pytest.raises(ms.RunError, match="MS219") as here:
            program.run()
        assert here.value.fix == caught.value.fix
        assert (
            here.value.what.replace(
                " for the record {'s': 'x', 'n': 0, 'a': [1, 2], 'big': 9223372036854775807}", ""
            )
            == caught.value.what
        )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("upper(a)", 'The first parameter requires the "STRING" type'),
        ("url_encode(s, s)", "requires 1 parameters but the actual number is 2"),
        ("session.no_such(s)", "no_such"),
        ("a AND TRUE", "data type mismatch"),
    ],
)
def test_what_spark_refuses_has_a_code_and_a_step(spark: SparkSession, text: str, why: str) -> None:
    with pytest.raises(ms.PlanError, match="MS125 in step 'with_columns-1'") as caught:
        ROWS.with_columns(v=text).collect().run(spark=spark, mode="batch")
    assert why in caught.value.what
    assert text.split("(")[0].lower() in caught.value.what.lower()


def test_a_type_that_python_does_not_have_is_refused_by_name(spark: SparkSession) -> None:
    later = ROWS.with_columns(m="INTERVAL '1' MONTH * n")
    for program in (later.collect(), later.map(dict, schema="s string").collect()):
        with pytest.raises(ms.PlanError, match="MS125 in step 'with_columns-1': column 'm' is"):
            program.run(spark=spark, mode="batch")
    used = later.with_columns(d="date '2024-01-31' + m").select("d").collect()
    assert len(used.run(spark=spark, mode="batch").rows()) == 1


def test_rows_on_which_sql_fails_are_rejected_with_the_reason_and_the_record(
    spark: SparkSession,
) -> None:
    rows = ms.from_rows([("1", 2), ("x", 3), (None, 0), ("4", 0)], schema="s string, n int")
    good = rows.with_columns(v="cast(s AS int) + cast(s AS int)", w="1 div n", on_error="reject")
    program = ms.pipeline(good.collect("good"), good.rejected.collect("bad"))
    for mode in ("batch", "streaming"):
        job = program.run(spark=spark, mode=mode)
        assert job.rows("good") == [{"s": "1", "n": 2, "v": 2, "w": 0}]
        assert job.rows("bad") == [
            {"step": "with_columns-1", "reason": f"column {why}, cannot be computed", "record": of}
            for why, of in [
                ("'v', CAST(s AS INT) + CAST(s AS INT)", '{"s":"x","n":3}'),
                ("'w', 1 DIV n", '{"s":null,"n":0}'),
                ("'w', 1 DIV n", '{"s":"4","n":0}'),
            ]
        ]
        assert job.progress().rejected == 3
    assert program.run().rows("bad") == job.rows("bad")
    assert program.run().rows("good") == job.rows("good")


NUMBERS = st.sampled_from([0, 1, -1, 7, 2**31 - 1, -(2**31), None])
TEXTS = st.sampled_from(
    ["0", "7", "-3", " 5 ", "x", "", "1.5", "1e3", "3000000000", "1_0", "٣", "true", "NaN", None,
     "inf", "1d", "+4", "0x1", "9" * 20, "\t2\n", "yes", "127", "128"]
)  # fmt: skip
LEAVES = st.sampled_from(
    ["n", "m", "cast(s AS int)", "cast(t AS int)", "cast(s AS bigint)", "3", "NULL",
     "cast(cast(s AS double) AS int)", "cast(n AS tinyint)", "try_cast(t AS int)"]
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "%", "div"]), inner).map(
            lambda part: f"({' '.join(part)})"
        ),
        inner.map(lambda part: f"(-{part})"),
        inner.map(lambda part: f"abs({part})"),
        st.tuples(inner, inner).map(lambda part: f"coalesce({part[0]}, {part[1]})"),
        st.tuples(inner, inner, inner).map(
            lambda part: f"CASE WHEN {part[0]} > 0 THEN {part[1]} ELSE {part[2]} END"
        ),
    ),
    max_leaves=4,
)
CONDITIONS = st.one_of(
    st.tuples(VALUES, VALUES, VALUES).map(lambda v: f"{v[0]} > 0 AND {v[1]} < {v[2]}"),
    st.tuples(VALUES, VALUES).map(lambda v: f"{v[0]} / {v[1]} > 1 OR cast(s AS boolean)"),
    st.tuples(VALUES, VALUES).map(lambda v: f"{v[0]} IN (1, {v[1]})"),
)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS, NUMBERS, NUMBERS), min_size=12, max_size=30),
    columns=st.lists(VALUES, min_size=3, max_size=5),
    condition=CONDITIONS,
)
def test_all_executors_agree_on_the_rows_on_which_sql_fails(
    spark: SparkSession, rows: list[Any], columns: list[str], condition: str
) -> None:
    given = ms.from_rows(rows, schema="s string, t string, n int, m int")
    kept = given.filter(condition, on_error="reject")
    made = [
        given.with_columns(v=column, on_error="reject").named(f"step {i}")
        for i, column in enumerate(columns)
    ]
    sinks = [part for stream in [kept, *made] for part in _both(stream)]
    program = ms.pipeline(*sinks)
    here, there = program.run(), program.run(spark=spark, mode="batch")
    for sink in program.sinks:
        assert bag(there.rows(sink.name)) == bag(here.rows(sink.name)), sink.name


def _both(stream: ms.Stream) -> list[ms.Pipeline]:
    name = stream.node.name
    return [stream.collect(f"{name}, good"), stream.rejected.collect(f"{name}, bad")]


def bag(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))
