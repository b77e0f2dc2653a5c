"""A line of Spark's errors leads back to the expression that it is of."""

from __future__ import annotations

import millstream as ms
from millstream.plan.nodes import walk
from millstream.spark.lower.sql_listing import Listing


def test_each_line_of_an_expression_is_its_own_and_no_other_is():
    rows = ms.from_rows([], schema="n int")
    stream = rows.filter("n > 1\nAND n < 5").with_columns(m="n + 1")
    nodes = list(walk(stream.node))
    listing = Listing(nodes)
    texts = [sql.expression.text for sql in listing.all]
    found = [listing.at(line) for line in range(1, 200)]
    lines = [sql.expression.text for sql in found if sql is not None]
    assert len(texts) == 2
    assert lines == [text for text in texts for _ in range(text.count("\n") + 1)]
    assert listing.at(1) is None
