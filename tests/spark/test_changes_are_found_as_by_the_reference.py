"""changes() on Spark: of files and topics, batch and streaming, resumed, after a grouping."""

from __future__ import annotations

import json
import os

import millstream as ms
import topics

DOORS = "door string, state string, at double"
FILES = [
    [("front", "open", 1.0), ("back", "open", 2.0), ("front", "open", 3.0), ("front", "shut", 2.5)],
    [("front", "open", 9.0), ("back", "open", 1.0), ("back", "shut", 1.0), ("back", "open", 1.0)],
    [("front", "shut", 4.0), ("back", "shut", 8.0), ("side", None, 8.0), ("side", None, 9.0)],
]


def doors_in(folder, **how):
    return ms.read_files(folder, "json", DOORS, "at", ms.bounded("1h"), name="doors", **how)


def changed(rows, last):
    """Those that differ from the row of their door before it, one after another."""
    made = []
    for door, state, at in sorted(rows, key=lambda row: row[2]):
        if door not in last or last[door] != state:
            made.append((door, state, at))
        last[door] = state
    return made


def write(folder, number):
    folder.mkdir(exist_ok=True)
    rows = [dict(zip(("door", "state", "at"), row, strict=True)) for row in FILES[number]]
    file = folder / f"{number}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads the oldest first


def test_changes_are_found_by_a_job_that_is_resumed_in_between(spark, tmp_path):
    last: dict = {}
    for new in ([0, 1], [2]):
        for number in new:
            write(tmp_path / "doors", number)
        doors = doors_in(tmp_path / "doors", max_files_per_batch=1)
        # A function, then SQL, then the operator: the order of rows is kept through all of them.
        loud = doors.map(lambda row: {**row, "state": row["state"] and row["state"].upper()}, DOORS)
        quiet = loud.with_columns(state="lower(state)").key_by("door").changes("state")
        job = quiet.collect("changes").run("doors", spark=spark, checkpoint=tmp_path / "state")
        job.process_all().stop()
        found = [tuple(row.values()) for row in job.rows("changes")]
        expected = [row for number in new for row in changed(FILES[number], last)]
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_records_of_one_event_time_are_compared_in_the_order_of_their_partition(spark, broker):
    topic = topics.new_topic(broker.servers, 2)
    states = ["open", "open", "shut", "shut", "open"]
    for partition, door in enumerate(("front", "back")):
        records = [{"door": door, "state": state, "at": 1.0} for state in states]
        topics.put(broker.servers, topic, records, partition)
    for how in ({"until": "latest"}, {}):
        doors = ms.read_kafka(
            topic, DOORS, event_time="at", watermark=ms.bounded("1s"), servers=broker.servers, **how
        )
        job = doors.key_by("door").changes().collect("changes").run("doors", spark=spark)
        rows = (job if how else job.process_all().stop()).rows("changes")
        for door in ("front", "back"):
            assert [row["state"] for row in rows if row["door"] == door] == ["open", "shut", "open"]


def test_changes_of_panes_follow_the_windows_of_their_key(spark, tmp_path):
    rows = [("a", at, n) for at, n in enumerate([1, 1, 2, 2, 2, 1])]
    numbers = ms.from_rows(rows, "key string, at int, n int", "at", name="numbers")
    sums = numbers.key_by("key").window(ms.fixed(1)).aggregate(total=ms.sum("n"))
    totals = sums.select("key", "total").key_by("key").changes("total")
    for mode in ("batch", "streaming"):
        job = totals.collect("totals").run("totals", spark=spark, mode=mode)
        assert [row["total"] for row in job.wait().rows("totals")] == [1, 2, 1]
