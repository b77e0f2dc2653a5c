"""What is read from the text of Spark's errors."""

from __future__ import annotations

from millstream.spark.compat.messages import (
    FAILED,
    NO_PATH,
    without_condition,
)

DIVIDED = """[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to be safe. SQLSTATE: 22012
== SQL (line 101, position 5) ==
n + 1 / 0
    ^^^^^
"""


def test_an_error_of_sql_says_what_and_where():
    found = FAILED.search(DIVIDED)
    assert found["condition"] == "DIVIDE_BY_ZERO"
    assert (found["line"], found["position"], len(found["part"])) == ("101", "5", 5)
    assert found["state"] == "22012"
    assert without_condition(DIVIDED).startswith("Division by zero")


def test_a_path_is_found():
    path = "[PATH_NOT_FOUND] Path does not exist: file:/in. SQLSTATE: 42K03"
    assert NO_PATH.search(path)["path"] == "file:/in"
