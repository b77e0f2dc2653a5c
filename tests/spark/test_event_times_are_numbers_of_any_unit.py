"""Numbers of seconds to nanoseconds as event times: by Python and by the JVM, from all sources."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from decimal import Decimal
from typing import get_args

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

import millstream as ms
import topics
from millstream.model.errors import PlanError
from millstream.model.time_units import TimeUnit
from millstream.reference.rows import event_time, why_no_time
from millstream.spark.lower.event_times import micros, why_none

NUMBERS = {
    "bigint": [
        *(0, 1, -1, 999, 1000, -999, -1000, -1001, 2**63 - 1, -(2**63), None),
        *(1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456, 1_700_000_000_123_456_789),
        *(253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801),
    ],
    "double": [0.5, 1.5, 2.5, -0.5, 1.7e9, 1.7e12 + 0.125, 1.7e15, 1.7e18, 1e300, float("nan")],
    "decimal(20, 3)": [Decimal("1.500"), Decimal("-0.001"), Decimal("1700000000000.123"), None],
}
TEN = int(datetime(2026, 1, 2, 3, 10, tzinfo=UTC).timestamp())


def expected(value, unit):
    try:
        return event_time(value, unit), None
    except (ValueError, ArithmeticError, PlanError):
        return None, f"event time 'ts': {why_no_time(value, unit)}"


@pytest.mark.parametrize("type", NUMBERS)
def test_the_jvm_computes_the_instants_and_reasons_of_the_reference(spark, type):
    frame = spark.createDataFrame([(value,) for value in NUMBERS[type]], f"ts {type}").coalesce(1)
    kind, column = frame.schema["ts"].dataType, F.col("ts")
    units = get_args(TimeUnit)
    made = [micros(column, kind, unit).alias(unit) for unit in units]
    why = [why_none("ts", column, kind, unit).alias(f"why {unit}") for unit in units]
    for row in frame.select("ts", *made, *why).collect():
        for unit in units:
            found = row[unit], row[f"why {unit}"] if row[unit] is None else None
            assert found == expected(row["ts"], unit), (row["ts"], unit)


def test_files_frames_and_topics_have_event_times_in_their_units(spark, broker, tmp_path, caplog):
    # Of the same times, in the minute from 03:10 and the one after it.
    seconds = [TEN, TEN + 59, TEN + 60]
    millis = [{"ts": each * 1000 + 999} for each in seconds]
    (tmp_path / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in millis))
    topic = topics.new_topic(broker.servers, 1)
    topics.put(broker.servers, topic, [{"ts": each * 10**6} for each in seconds])
    nanos = spark.createDataFrame([(each * 10**9,) for each in seconds], "ts bigint")
    streams = {
        "files": ms.read_files(tmp_path, "json", "ts bigint", "ts", bounded=True, unit="ms"),
        "kafka": ms.read_kafka(
            topic, "ts bigint", event_time="ts", until="latest", servers=broker.servers, unit="us"
        ),
        "frame": ms.from_dataframe(nanos, "ts", unit="ns"),
        "sql": ms.from_rows([(each,) for each in seconds], "ts int")
        .with_columns(ts="ts * 1000D")
        .with_event_time("ts", unit="ms"),
        "too fine": ms.from_rows([(each,) for each in seconds], "ts int")
        .with_columns(ts="ts * 1D")
        .with_event_time("ts", unit="ms"),
        "wrong": ms.from_rows([(each * 1000,) for each in seconds], "ts bigint", "ts"),
    }
    sinks = []
    for name, stream in streams.items():
        counts = stream.window(ms.fixed("1m")).aggregate(n=ms.count())
        sinks += [counts.collect(name), stream.rejected.collect(f"rejected {name}")]
    with caplog.at_level(logging.WARNING, "millstream.job"):
        job = ms.pipeline(*sinks).run("units", spark=spark, mode="batch")
    for name in streams.keys() - {"too fine"}:
        found = [(row["window"]["start"].timestamp(), row["n"]) for row in job.rows(name)]
        by_minute = [] if name == "wrong" else [(TEN, 2), (TEN + 60, 1)]
        assert sorted(found) == by_minute, name
    assert {row["window"]["start"].year for row in job.rows("too fine")} == {1970}
    (warned,) = (each for each in caplog.messages if "of another unit" in each)
    assert f"ts = {TEN + 60} as milliseconds is in 1970, and looks like seconds" in warned
    reasons = {row["reason"] for row in job.rows("rejected wrong")}
    assert reasons == {f"event time 'ts': {why_no_time(TEN * 1000)}"}
    assert len(job.rows("rejected wrong")) == 3
