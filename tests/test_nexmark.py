"""The queries of Nexmark give what Polars gives over the same events, all at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
import pytest

import millstream as ms
from nexmark_answers import ANSWERS, check

ROOT = Path(__file__).parents[1]
IN_JAVA = ("q10", "q14", "q15", "q16", "q17", "q21", "q22")
"""Queries with functions that only Spark computes."""
BY_THE_CLOCK = "q12"
"""The query whose windows end by the clock: a batch emits all of them."""


@pytest.fixture(scope="module", autouse=True)
def _examples_can_be_imported():
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


def kinds() -> dict[str, str]:
    from examples.nexmark.generator import AUCTION, BID, PERSON

    return {"person": PERSON, "auction": AUCTION, "bid": BID}


def site_of(streams: dict[str, ms.Stream], rate: int):
    from examples.nexmark.generator import Generator
    from examples.nexmark.queries import Site

    return Site(**streams, longest=f"{Generator(rate).longest_auction}ms")


def site_of_files(folder: Path, rate: int, **how):
    streams = {
        kind: ms.read_files(
            folder / kind, "parquet", schema, "dateTime", ms.ascending(), name=kind, **how
        )
        for kind, schema in kinds().items()
    }
    return site_of(streams, rate)


def test_there_is_an_answer_for_each_query():
    from examples.nexmark.queries import QUERIES

    assert list(QUERIES) == list(ANSWERS) == [f"q{n}" for n in range(23)]


@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in IN_JAVA])
def test_a_query_gives_what_polars_gives(name):
    from examples.nexmark.generator import Generator
    from examples.nexmark.queries import QUERIES

    rate = 100
    events = Generator(rate).tables(0, 3000)
    streams = {
        kind: ms.from_rows(events[kind].to_dicts(), schema, "dateTime", name=kind)
        for kind, schema in kinds().items()
    }
    rows = QUERIES[name](site_of(streams, rate)).collect("rows").run().rows("rows")
    check(name, pl.DataFrame(rows, infer_schema_length=None), events)


def test_on_spark_all_queries_give_what_polars_gives_of_100_000_events(spark, tmp_path):
    from examples.nexmark.generator import Generator
    from examples.nexmark.queries import QUERIES

    generator, count, parts = Generator(rate=1000), 100_000, 2
    generator.write(tmp_path, count, parts)
    end = generator.tables(1000 * count, 50)  # more than a day later
    for kind, table in end.items():
        table.write_parquet(tmp_path / kind / "end.parquet")
        for number, file in enumerate(sorted((tmp_path / kind).iterdir())):
            os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads the oldest first
    site = site_of_files(tmp_path, generator.rate, max_files_per_batch=1)
    written = [
        query(site).write_files(tmp_path / "made" / name, name=name)
        for name, query in QUERIES.items()
        if name != BY_THE_CLOCK
    ]
    ms.pipeline(*written).run("nexmark", spark=spark).process_all().stop()
    bounded = site_of_files(tmp_path, generator.rate, bounded=True)
    by_the_clock = QUERIES[BY_THE_CLOCK](bounded).write_files(tmp_path / "made" / BY_THE_CLOCK)
    by_the_clock.run("clock", spark=spark, mode="batch")
    whole = generator.tables(0, count)
    events = {kind: pl.concat([whole[kind], end[kind]]) for kind in end}
    retracting = set()
    for name in QUERIES:
        rows = pl.read_parquet(tmp_path / "made" / name / "part-*.parquet")
        if "kind" in rows.columns and (rows["kind"] == "-").any():
            retracting.add(name)
        check(name, rows, whole if name in FINAL else events)
    assert retracting == {"q4", "q6", "q9", "q15", "q16", "q17"}


FINAL = ("q5", "q7", "q8", "q11", "q19")
"""Queries that emit a window when it has ended: those of the last events are still open."""
