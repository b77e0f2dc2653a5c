"""sql(): a query over single rows is a filter and a select; anything else names its method."""

from __future__ import annotations

import re

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.nodes import Filter, Select, walk

ROWS = ms.from_rows(
    [("ann", 3, [1]), ("bob", 40, [2]), (None, 5, None)],
    schema="user string, points int, list array<int>",
)


def made(query, **options):
    return [tuple(row.values()) for row in ROWS.sql(query, **options).collect().run().rows()]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT user FROM stream WHERE points > 3", [("bob",), (None,)]),
        ("SELECT points * 2 AS p FROM stream WHERE user IS NOT NULL", [(6,), (80,)]),
        ("select s.points as p from stream s where s.user = 'ann'", [(3,)]),
        ("SELECT stream.points FROM STREAM WHERE user IN ('bob')", [(40,)]),
        ("SELECT CASE WHEN points > 9 THEN 1 END AS n FROM stream", [(None,), (1,), (None,)]),
    ],
)  # fmt: skip
def test_a_query_gives_the_rows_that_sql_says(query, rows):
    assert made(query) == rows


def test_a_star_is_all_columns():
    assert ROWS.sql("SELECT * FROM stream").node is ROWS.node
    assert ROWS.sql("SELECT *, points + 1 AS next FROM stream").schema.names == (
        "user", "points", "list", "next",
    )  # fmt: skip


def test_it_is_a_filter_and_a_select():
    stream = ROWS.sql("SELECT user FROM stream WHERE points > 3")
    assert [type(node) for node in walk(stream.node)][1:] == [Filter, Select]


def test_settings_stay():
    keyed = ROWS.key_by("user").sql("SELECT user, points FROM stream")
    assert keyed.aggregate(n=ms.count()).schema.names == ("user", "n", "window", "pane")


def test_rows_on_which_it_fails_are_rejected_if_wanted():
    stream = ROWS.sql("SELECT 60 / (points - 3) AS n FROM stream", on_error="reject")
    job = ms.pipeline(stream.collect("rows"), stream.rejected.collect("rejected")).run()
    assert (len(job.rows("rows")), len(job.rows("rejected"))) == (2, 1)


@pytest.mark.parametrize(
    ("query", "instead"),
    [
        ("SELECT user, count(*) AS n FROM stream GROUP BY user", ".aggregate("),
        ("SELECT max(points) AS n FROM stream", ".aggregate("),
        ("SELECT sum(points) OVER (PARTITION BY user) AS n FROM stream", ".aggregate("),
        ("SELECT user FROM stream HAVING points > 3", ".aggregate("),
        ("SELECT DISTINCT user FROM stream", ".deduplicate("),
        ("SELECT user FROM stream ORDER BY points", "ms.top("),
        ("SELECT user FROM stream LIMIT 3", "ms.top("),
        ("SELECT user FROM stream JOIN other USING (user)", ".join("),
        ("SELECT user FROM stream, other", ".join("),
        ("SELECT user FROM stream UNION ALL SELECT user FROM stream", ".union("),
        ("SELECT user FROM (SELECT * FROM stream)", ".sql("),
        ("WITH s AS (SELECT * FROM stream) SELECT user FROM s", ".sql("),
        ("SELECT user FROM stream WHERE points IN (SELECT points FROM stream)", ".sql("),
        ("SELECT explode(list) AS n FROM stream", ".flat_map("),
        ("SELECT n FROM stream LATERAL VIEW explode(list) AS n", ".flat_map("),
        ("SELECT user FROM scores", "call it stream"),
        ("SELECT 1 AS n", "call it stream"),
        ("points > 3", "call it stream"),
        ("DELETE FROM stream", "call it stream"),
    ],
)
def test_what_needs_more_than_one_row_names_its_method(query, instead):
    with pytest.raises(PlanError, match=re.escape(instead)) as error:
        ROWS.sql(query)
    assert error.value.code == "MS137"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT usr FROM stream", "MS102"),
        ("SELECT user FROM stream WHERE points", "MS112"),
        ("SELECT points * 2 FROM stream", "MS112"),
        ("SELECT FROM WHERE", "MS112"),
        ("SELECT no_such(points) AS n FROM stream", "MS124"),
        (7, "MS113"),
    ],
)
def test_other_mistakes_are_found_as_in_select_and_filter(query, code):
    with pytest.raises(PlanError) as error:
        ROWS.sql(query)
    assert error.value.code == code
