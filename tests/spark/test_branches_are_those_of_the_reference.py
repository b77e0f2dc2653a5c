"""branch() on Spark: after a function, in batches and in streams, with rows that are rejected."""

from __future__ import annotations

import millstream as ms

TEXTS = [("7",), ("x",), ("2",), (None,), ("60",)]


def test_each_row_is_in_one_branch_or_rejected_once_in_batches_and_in_streams(spark):
    texts = ms.from_rows(TEXTS, schema="text string", name="texts")
    loud = texts.map(lambda row: {"text": row["text"]}, schema="text string")
    parts = loud.branch(
        none="text IS NULL", big="CAST(text AS INT) > 3", rest=True, on_error="reject"
    )
    counts = parts.big.aggregate(n=ms.count()).select("n")
    program = ms.pipeline(
        parts.none.collect("none"),
        parts.rest.collect("rest"),
        counts.collect("big"),
        parts.none.union(parts.rest).rejected.collect("bad"),
    )
    for mode in ("batch", "streaming"):
        job = program.run("branches", spark=spark, mode=mode).wait()
        assert job.rows("none") == [{"text": None}]
        assert job.rows("rest") == [{"text": "2"}]
        assert job.rows("big") == [{"n": 2}]
        assert [(row["step"], row["record"]) for row in job.rows("bad")] == [
            ("branch-1", '{"text":"x"}')
        ]
