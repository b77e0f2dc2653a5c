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
RATE = 1000


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


def site_of_files(folder: Path, **how):
    streams = {
        kind: ms.read_files(
            folder / kind, "parquet", schema, "dateTime", ms.ascending(), name=kind, **how
        )
        for kind, schema in kinds().items()
    }
    return site_of(streams, RATE)


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


def written(folder: Path, events: int) -> Path:
    """Events in two files of each kind, the first of which Spark reads first."""
    from examples.nexmark.generator import Generator

    Generator(RATE).write(folder, events, parts=2)
    for kind in kinds():
        for number, file in enumerate(sorted((folder / kind).iterdir())):
            os.utime(file, (1_700_000_000 + number,) * 2)
    return folder


def made_by(run, site, names, folder: Path) -> dict[str, pl.DataFrame]:
    """What queries write, all in one program."""
    from examples.nexmark.queries import QUERIES

    run(ms.pipeline(*(QUERIES[q](site).write_files(folder / q, name=q) for q in names)))
    return {name: pl.read_parquet(folder / name / "part-*.parquet") for name in names}


def test_on_spark_all_queries_give_what_polars_gives_of_100_000_events(spark, tmp_path):
    from examples.nexmark.generator import Generator

    site = site_of_files(written(tmp_path, 100_000), bounded=True)
    made = made_by(
        lambda all: all.run("nexmark", spark=spark, mode="batch"), site, ANSWERS, tmp_path / "made"
    )
    events = Generator(RATE).tables(0, 100_000)
    for name, rows in made.items():
        check(name, rows, events)


def test_in_a_stream_results_are_taken_back_and_the_last_ones_are_those_of_polars(spark, tmp_path):
    from examples.nexmark.generator import Generator

    site = site_of_files(written(tmp_path, 10_000), max_files_per_batch=1)
    made = made_by(
        lambda all: all.run("nexmark", spark=spark).process_all().stop(),
        site,
        ["q4", "q6"],
        tmp_path / "made",
    )
    events = Generator(RATE).tables(0, 10_000)
    for name, rows in made.items():
        assert (rows["kind"] == "-").any(), name
        check(name, rows, events)


def test_events_are_the_same_however_they_are_partitioned():
    from examples.nexmark.generator import Generator

    whole = Generator().tables(0, 1000)
    parts = [Generator().tables(first, 250) for first in range(0, 1000, 250)]
    for kind, table in whole.items():
        assert pl.concat([part[kind] for part in parts]).equals(table)
    sizes = {kind: table.height for kind, table in whole.items()}
    assert sizes == {"person": 20, "auction": 60, "bid": 920}


def test_the_first_ids_are_those_of_beam():
    from examples.nexmark.generator import Generator

    made = Generator().tables(0, 52)
    assert made["person"]["id"].to_list() == [1000, 1001]
    assert made["auction"]["id"].to_list() == [1000, 1001, 1002, 1003]
    assert made["bid"].height == 46


def test_half_of_the_bids_are_on_hot_auctions_and_prices_are_of_all_sizes():
    from examples.nexmark.generator import Generator

    bid = Generator().tables(0, 100_000)["bid"]
    hot = bid.filter(pl.col("auction") % 100 == 0).height / bid.height
    assert 0.49 < hot < 0.53
    assert 90_000 < bid["price"].median() < 111_000
    assert bid["price"].is_between(100, 100_000_000).all()
