"""Whole programs as one streaming query of Spark: watermarks, panes, stopping and going on."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from pyspark import cloudpickle

import millstream as ms
from bags import bag
from millstream.jobs.in_process import run_to_the_end
from millstream.jobs.job import Job
from millstream.model.errors import RunError
from millstream.model.instants import START_OF_TIME
from millstream.plan.operators.grouping import Grouping
from millstream.reference.interpreter import Interpreter
from millstream.spark.batches.commits import written
from waiting import until

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test

EVENTS = "host string, user string, points int, at double"
CALLS = "user string, points int, at double, complete double"


def put(folder: Path, number: int, rows: list[dict], format: str = "json") -> None:
    """Adds a file, all at once; Spark reads the oldest first."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}"
    if format == "json":
        hidden.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        types = {"points": pl.Int32, "at": pl.Float64, "complete": pl.Float64}
        pl.DataFrame(rows, schema_overrides=types).write_parquet(hidden)
    os.utime(hidden, (1_000_000_000 + number,) * 2)
    hidden.rename(folder / f"{number}.{format}")


def events(*rows: tuple) -> list[dict]:
    return [dict(zip(("host", "user", "points", "at"), row, strict=True)) for row in rows]


def calls(*rows: tuple) -> list[dict]:
    return [dict(zip(("user", "points", "at", "complete"), row, strict=True)) for row in rows]


# What comes in each micro-batch, and the watermarks after it. Events may be five seconds out of
# order, so that the watermark of a host is five seconds before its newest event, and that of the
# source is the one of the host that is behind. Calls say themselves how far they have come.
BATCHES = [
    (
        events(("x", "ann", 1, 2.0), ("y", "ann", 2, 3.0), ("x", "bob", 4, 8.0)),
        calls(("ann", 10, 1.0, None), ("cid", 10, 2.0, None)),
        (-2, None),  # x is at 3, y at -2
    ),
    (
        events(("x", "ann", 4, 9.0), ("x", "bob", 8, 21.0), ("x", "cid", 1, None)),
        calls(("cid", 20, 5.5, 2.0)),
        (-2, 2),  # x is at 16, y still at -2
    ),
    (
        events(("y", "ann", 3, 8.5), ("y", "dan", 5, 20.0), ("z", "bob", 1, 40.0)),
        calls(("ann", 5, 30.0, 25.0), ("ann", 6, 3.0, None)),
        (15, 25),  # x is at 16, y at 15, z at 35: all windows up to 10 have ended
    ),
    (
        events(("y", "ann", 1, 1.0), ("y", "bob", 2, 12.0), ("x", "dan", 2, 27.0)),
        calls(("ann", 7, 33.0, 25.0), ("cid", 8, 7.0, 40.0)),
        (15, 40),  # ann's is late, but its window lives until 20
    ),
    (
        events(("x", "ann", 9, 50.0), ("y", "ann", 9, 60.0), ("z", "ann", 9, 55.0)),
        calls(("bob", 1, 41.0, None)),
        (45, 40),
    ),
    (
        events(("y", "ann", 7, 4.0), ("y", "ann", 7, 58.0), ("x", "eve", 7, 36.0)),
        calls(("bob", 1, 2.0, 90.0)),
        (45, 90),  # two come for windows that have expired
    ),
    (
        events(*((host, "zoe", 0, 500.0) for host in "xyz")),
        calls(("zoe", 0, 500.0, 500.0)),
        (495, 500),
    ),
]
CUT = 3
"""How many batches come before the job is stopped."""


def program(folder: Path, out: Path, window: str = "10s", more: bool = False) -> ms.Pipeline:
    """Early, final and late panes of totals, groups of those, and sessions of two sources.

    With ``more`` it has a sink more, and a step before it.
    """
    source = ms.read_files(
        folder / "events", "json", EVENTS, "at", ms.bounded("5s"), split="host",
        max_files_per_batch=1, name="events",
    )  # fmt: skip
    called = ms.read_files(
        folder / "calls", "parquet", CALLS, "at", ms.punctuated("complete"), max_files_per_batch=1,
        name="calls",
    )  # fmt: skip
    totals = (
        source.key_by("user")
        .window(ms.fixed(window), allowed_lateness="10s")
        .trigger(ms.at_watermark(early=ms.after_count(2), late=ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("points"), hosts=ms.collect_set("host"))
        .named("totals")
    )
    users = (
        totals.filter("total > 3")
        .key_by("total")
        .window(ms.fixed("20s"), allowed_lateness="20s")
        .refine(ms.retracting)
        .aggregate(users=ms.collect_set("user"), rows=ms.collect())
        .named("users")
    )
    both = source.select("user", "points").union(called.select("user", "points"))
    sessions = (
        both.key_by("user")
        .window(ms.session("4s"), allowed_lateness="5s")
        .refine(ms.retracting)
        .aggregate(n=ms.count(), points=ms.collect("points"))
        .named("sessions")
    )
    added = [totals.filter("kind = '-'").select("user", "kind").collect("taken back")]
    return ms.pipeline(
        *(added if more else []),
        totals.collect("all totals"),
        totals.write_files(out / "totals", "json", name="written totals"),
        totals.late.write_files(out / "late", "parquet", name="written late"),
        users.collect("all users"),
        sessions.collect("all sessions"),
        source.rejected.collect("rejected"),
    )


def expected_of(pipeline: ms.Pipeline, batches: list) -> list[dict]:
    """What the reference puts into each sink, step by step, and how far time has come."""
    interpreter = Interpreter(*pipeline.sinks)
    made = []
    for some_events, some_calls, marks in batches:
        named = zip(("events", "calls"), marks, strict=True)
        step = interpreter.step(
            rows={"events": some_events, "calls": some_calls},
            watermarks={n: START_OF_TIME if m is None else m * 1_000_000 for n, m in named},
        )
        made.append({sink.name: [row.values for row in step.rows[sink]] for sink in pipeline.sinks})
        groupings = [node for node in interpreter._order if isinstance(node, Grouping)]
        made[-1]["watermark"] = min(interpreter._watermarks[node.input] for node in groupings)
    return made


class Story(NamedTuple):
    """A job that is stopped in the middle and then goes on, with a step and a sink more."""

    before: Job
    after: Job
    expected: list[dict[str, list[dict]]]
    folder: Path
    out: Path
    checkpoint: Path


@pytest.fixture(scope="module")
def story(spark, tmp_path_factory) -> Story:
    folder, out = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("out")
    checkpoint = tmp_path_factory.mktemp("checkpoint")

    def bring(batches: range) -> None:
        for number in batches:
            some_events, some_calls, _ = BATCHES[number]
            put(folder / "events", number, some_events)
            put(folder / "calls", number, some_calls, "parquet")

    bring(range(CUT))
    before = program(folder, out).run("story", spark=spark, checkpoint=checkpoint)
    before.process_all().stop()
    bring(range(CUT, len(BATCHES)))
    whole = program(folder, out, more=True)
    after = whole.run("story", spark=spark, checkpoint=checkpoint).process_all().stop()
    return Story(before, after, expected_of(whole, BATCHES), folder, out, checkpoint)


def test_a_job_that_was_stopped_goes_on_where_it_was(story):
    first, rest = story.expected[:CUT], story.expected[CUT:]
    for name in ("all totals", "all users", "all sessions"):
        assert bag(story.before.rows(name)) == bag(r for step in first for r in step[name]), name
        assert bag(story.after.rows(name)) == bag(r for step in rest for r in step[name]), name
    for job, steps in ((story.before, first), (story.after, rest)):
        expected = (row for step in steps for row in step["rejected"])
        assert bag(map(_anywhere, job.rows("rejected"))) == bag(expected)
    back = [row for step in rest for row in step["taken back"]]
    assert bag(story.after.rows("taken back")) == bag(back)
    assert back, "the story has retractions"


def _anywhere(rejected: dict) -> dict:
    """A rejected record without the line and file that it was in: the reference has no files."""
    return {**rejected, "reason": re.sub(r", in line \d+ of .*", "", rejected["reason"])}


def test_each_pane_is_written_once_and_in_the_batch_in_which_the_reference_has_it(story):
    written: dict[int, list[dict]] = {}
    for file in sorted((story.out / "totals").glob("*.json")):
        batch = int(file.stem.split("-")[2])
        written.setdefault(batch, []).extend(pl.read_ndjson(file).to_dicts())
    for number, step in enumerate(story.expected):
        assert sorted(map(_shown, written.get(number, []))) == sorted(
            map(_shown, step["written totals"])
        ), f"batch {number}"


def _shown(row: dict) -> tuple:
    return row["kind"], row["user"], row["total"], *row["hosts"], *map(str, row["pane"].values())


def test_late_rows_are_written_once_with_their_window(story):
    files = sorted((story.out / "late").glob("*.parquet"))
    got = pl.concat(pl.read_parquet(file) for file in files).to_dicts()
    expected = [row for step in story.expected for row in step["written late"]]
    assert sorted(map(_late, got)) == sorted(map(_late, expected)) == [("ann", 4.0, 10, "expired")]


def _late(row: dict) -> tuple:
    return row["user"], row["at"], int(row["window"]["end"].timestamp()), row["reason"]


def test_the_numbers_of_progress_add_up_over_both_lives(story):
    lives = [story.before.progress(), story.after.progress()]
    assert [life.state for life in lives] == ["stopped", "stopped"]
    assert [life.batches for life in lives] == [CUT, len(BATCHES) - CUT]
    rows = [len(some_events) + len(some_calls) for some_events, some_calls, _ in BATCHES]
    assert [life.rows for life in lives] == [sum(rows[:CUT]), sum(rows[CUT:])]
    assert [life.late_by_step.get("totals", 0) for life in lives] == [0, 1]
    assert [life.rejected_by_step.get("event_time-1", 0) for life in lives] == [1, 0]
    watermarks = [story.expected[last]["watermark"] for last in (CUT - 1, -1)]
    assert [life.watermark for life in lives] == [
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=mark) for mark in watermarks
    ]
    assert watermarks[1] == 495_000_000
    assert lives[0].state_rows > 0 < lives[0].state_bytes
    for life, steps in zip(lives, (story.expected[:CUT], story.expected[CUT:]), strict=True):
        for sink, number in life.written.items():
            assert number == sum(len(step[sink]) for step in steps), sink


def test_a_program_that_the_state_cannot_serve_is_refused_with_what_differs(spark, story):
    changed = program(story.folder, story.out, window="20s")
    with pytest.raises(RunError, match="MS207.*another program than job 'story'") as caught:
        changed.run("story", spark=spark, checkpoint=story.checkpoint)
    lines = caught.value.what.splitlines()
    assert [line.strip() for line in lines if line.strip()[0] in "+-" and "  where" in line] == [
        "-    where  fixed('10s'), allowed lateness 10s",
        "+    where  fixed('20s'), allowed lateness 10s",
    ]
    assert "another name or checkpoint" in caught.value.fix


def test_bounded_sources_as_a_stream_give_what_they_give_as_a_batch(spark, tmp_path):
    rows = events(
        ("x", "ann", 1, 2.0), ("y", "ann", 2, 3000.0), ("x", "bob", 4, 8.0), (None, "bob", 1, 9.0),
        ("y", "bob", 5, 3001.0), ("x", "ann", 3, 2000.0), ("x", "ann", 3, None),
    )  # fmt: skip
    for number in range(3):
        put(tmp_path / "files", number, rows[number::3])

    def totals(stream, name):
        by_user = stream.key_by("user").window(ms.session("10s"))
        counted = by_user.refine(ms.retracting).aggregate(n=ms.count(), total=ms.sum("points"))
        high = counted.filter("total > 1").key_by("n").window(ms.fixed("1h"))
        users = high.refine(ms.accumulating).aggregate(users=ms.collect("user"))
        return [
            counted.collect(name),
            users.collect(f"2 {name}"),
            counted.late.collect(f"late {name}"),
            stream.rejected.collect(f"bad {name}"),
        ]

    given = ms.from_rows(rows, EVENTS, "at", name="given")
    expected = run_to_the_end("given", ms.pipeline(*totals(given, "sums")).sinks)

    def read(name, *policy, **options):
        return ms.read_files(
            tmp_path / "files", "json", EVENTS, *policy, bounded=True, name=name, **options
        )

    split = read("split", "at", ms.bounded("5s"), split="host", max_files_per_batch=1)
    # Python and SQL come between the source and the event time, which is where splits are followed.
    mapped = (
        read("mapped", split="host")
        .map(lambda row: row, EVENTS)
        .filter("points > 0")
        .with_event_time("at", ms.ascending(idle="1h"))
    )
    frame = spark.read.schema(EVENTS).json(str(tmp_path / "files"))
    framed = ms.from_dataframe(frame, "at", name="framed").union(
        ms.from_rows([], EVENTS, "at", name="../nothing [1]*?")
    )
    streams = {"by split": split, "by Python": mapped, "of a frame": framed}
    sinks = [sink for name, stream in streams.items() for sink in totals(stream, name)]
    job = ms.pipeline(*sinks).run("bounded", spark=spark, mode="streaming")
    assert job.progress().state == "finished"
    assert job.progress().batches == 1
    assert job.progress().rows == 21
    for name in streams:
        assert bag(job.rows(name)) == bag(expected.rows("sums")), name
        assert bag(job.rows(f"2 {name}")) == bag(expected.rows("2 sums")), name
        assert job.rows(f"late {name}") == [], name
        assert len(job.rows(f"bad {name}")) == 1, name


def test_splits_are_followed_behind_functions_of_users(spark, tmp_path):
    """A host that is behind loses nothing, though Python reads its rows before their time."""
    behind = (
        ms.read_files(tmp_path / "in", "json", EVENTS, split="host", max_files_per_batch=1)
        .map(lambda row: row, EVENTS)
        .filter("points > 0")
        .with_event_time("at", ms.ascending())
    )
    in_python = (
        ms.read_files(
            tmp_path / "in", "json", EVENTS, split="host", max_files_per_batch=1, name="second"
        )
        .map(lambda row: row, EVENTS)
        .with_event_time("at", ms.ascending())
    )
    counts = [
        stream.window(ms.fixed("10s")).aggregate(n=ms.count(), points=ms.sum("points"))
        for stream in (behind, in_python)
    ]
    put(tmp_path / "in", 0, events(("fast", "ann", 1, 1000.0), ("slow", "ann", 1, 1.0)))
    put(tmp_path / "in", 1, events(("fast", "ann", 1, 2000.0), ("slow", "ann", 1, 5.0)))
    put(tmp_path / "in", 2, events(("fast", "ann", 1, 3000.0), ("slow", "ann", 1, 12.0)))
    job = ms.pipeline(*(c.collect(f"counts {i}") for i, c in enumerate(counts))).run(
        "behind", spark=spark
    )
    job.process_all().stop()
    assert job.progress().batches == 3
    assert job.late == 0
    for number in range(2):
        (row,) = job.rows(f"counts {number}")
        assert (row["n"], row["window"]["end"].timestamp()) == (2, 10.0)


def test_the_clock_fires_triggers_and_lets_idle_splits_step_aside_without_new_data(spark, tmp_path):
    stream = ms.read_files(
        tmp_path / "in", "json", EVENTS, "at", ms.bounded("5s", idle="2s"), split="host"
    )
    given = ms.from_rows(events(("g", "gus", 1, 3.0)), EVENTS, "at", name="given")
    by_user = stream.union(given).key_by("user")
    windows = by_user.window(ms.fixed("10s")).aggregate(n=ms.count()).named("windows")
    delayed = by_user.trigger(ms.repeatedly(ms.after_delay("1s"))).refine(ms.accumulating)
    regular = by_user.trigger(ms.repeatedly(ms.every("1s")))
    put(tmp_path / "in", 0, events(("loud", "ann", 1, 3.0), ("loud", "ann", 1, 27.0)))
    put(tmp_path / "in", 1, events(("mute", "ann", 1, 4.0)))
    job = ms.pipeline(
        windows.collect("ended"),
        windows.late.collect("late"),
        delayed.aggregate(n=ms.count()).collect("delayed"),
        regular.aggregate(n=ms.count()).collect("regular"),
    ).run("clock", spark=spark, every="300ms")

    def seen(sink, *columns):
        return sorted(tuple(row[c] for c in columns) for row in job.rows(sink))

    until(lambda: len(seen("delayed", "n")) >= 2 and len(seen("regular", "n")) >= 2, job)
    assert seen("delayed", "user", "n") == seen("regular", "user", "n") == [("ann", 3), ("gus", 1)]
    assert {row["pane"]["timing"] for row in job.rows("delayed")} == {"EARLY"}
    # The mute host is idle: the loud one, at 22, ends the first windows, and only those.
    until(lambda: seen("ended", "user"), job)
    assert seen("ended", "user", "n") == [("ann", 2), ("gus", 1)]
    # Both are idle, and what was given has ended. That ends no window of what still comes.
    put(tmp_path / "in", 2, events(("loud", "ann", 5, 28.0), ("loud", "bob", 5, 45.0)))
    assert job.process_all().progress().rows == 6  # though by the clock there is always a batch
    until(lambda: len(seen("delayed", "n")) == 4, job)
    until(lambda: len(seen("ended", "n")) == 3, job)
    job.stop()
    assert seen("ended", "user", "n") == [("ann", 2), ("ann", 2), ("gus", 1)]
    assert seen("delayed", "user", "n") == [("ann", 3), ("ann", 4), ("bob", 1), ("gus", 1)]
    assert seen("regular", "user", "n") == [("ann", 1), ("ann", 3), ("bob", 1), ("gus", 1)]
    assert job.late == 0


class Lines:
    """A server on loopback that sends lines to whoever connects."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._lines: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def send(self, *lines: str) -> None:
        self._lines += lines

    def _serve(self) -> None:
        # Spark connects once to look, and once to read.
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        said = 0
        with client:
            while True:
                try:
                    for line in self._lines[said:]:
                        client.sendall(f"{line}\n".encode())
                        said += 1
                    time.sleep(0.02)
                except OSError:  # the other side has gone
                    return

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def lines():
    server = Lines()
    yield server
    server.close()


def test_sockets_and_rates_are_read_and_rows_go_to_functions_and_the_console(
    spark, tmp_path, lines, capsys
):
    def save(rows, batch, slice):
        name = f"{batch}-{slice}-{len(list(tmp_path.iterdir()))}.json"
        (tmp_path / name).write_text(json.dumps([row["word"] for row in rows]))

    words = ms.read_socket("127.0.0.1", lines.port, name="lines").flat_map(
        lambda row: [(word,) for word in row["value"].split()], "word string"
    )
    ticks = ms.read_rate(rows_per_second=50, name="ticks")
    counts = ticks.window(ms.fixed("1s")).aggregate(n=ms.count(), all=ms.collect("value"))
    streamed = ms.from_dataframe(
        spark.readStream.format("rate").option("rowsPerSecond", 1).load().select("value"),
        name="frame",
    )
    lines.send("to be", "or not")
    job = ms.pipeline(
        words.write_each(save, name="saved"),
        words.write_console(name="shown"),
        counts.collect("counts"),
        streamed.filter("value < 0").collect("none"),
    ).run("sources", spark=spark)
    until(lambda: job.progress().written.get("saved", 0) == 4, job)
    lines.send("to be")
    until(lambda: job.progress().written.get("saved", 0) == 6, job)
    until(lambda: len(job.rows("counts")) >= 3, job)
    job.stop()
    saved = [json.loads(file.read_text()) for file in tmp_path.iterdir()]
    assert sorted(word for some in saved for word in some) == sorted(
        ["to", "be", "or", "not", "to", "be"]
    )
    whole = sorted(job.rows("counts"), key=lambda row: row["window"]["start"])[1:-1]
    assert [row["n"] for row in whole] == [50] * len(whole)
    numbers = [n for row in whole for n in row["all"]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    shown = capsys.readouterr().out
    assert shown.count("shown · batch ") in (2, 3)  # the first two lines may come one by one
    assert shown.splitlines()[1].strip() == "word"
    assert job.progress().state == "stopped"


def test_a_function_that_fails_ends_the_job_with_its_error_and_mended_it_goes_on(spark, tmp_path):
    def job_with(function):
        rows = ms.read_files(tmp_path / "in", "json", EVENTS, name="rows", max_files_per_batch=1)
        checked = rows.map(function, "user string, points int").named("checked")
        counts = checked.key_by("user").trigger(ms.repeatedly(ms.after_count(1)))
        counts = counts.refine(ms.accumulating).aggregate(n=ms.count())
        return ms.pipeline(
            checked.write_files(tmp_path / "out", "csv", {"header": False}, name="out"),
            counts.collect("counts"),
        ).run("fragile", spark=spark, checkpoint=tmp_path / "checkpoint")

    def fragile(row):
        return {"user": row["user"], "points": 6 // row["points"]}

    def mended(row):
        return {"user": row["user"], "points": 6 // (row["points"] or 6)}

    put(tmp_path / "in", 0, events(("x", "ann", 1, 1.0), ("x", "bob", 2, 1.0)))
    put(tmp_path / "in", 1, events(("x", "ann", 3, 1.0), ("x", "ann", 0, 1.0)))
    job = job_with(fragile)
    failure = (
        "MS201 in step 'checked': fragile failed on the record "
        "{'host': 'x', 'user': 'ann', 'points': 0, 'at': 1.0}: "
        "ZeroDivisionError: integer division or modulo by zero\n  What to do: fix it"
    )
    for ask in (job.process_all, job.wait, job.stop):
        with pytest.raises(RunError) as caught:
            ask()
        assert str(caught.value).startswith(failure), ask
    assert job.progress().state == "failed"
    assert bag(row["n"] for row in job.rows("counts")) == bag([1, 1])
    again = job_with(mended).process_all().stop()
    assert [(row["user"], row["n"]) for row in again.rows("counts")] == [("ann", 3)]
    written = sorted(
        line for file in (tmp_path / "out").glob("*.csv") for line in file.read_text().split()
    )
    assert written == ["ann,1", "ann,2", "ann,6", "bob,3"]


def test_stopping_lets_the_batch_under_way_end_and_the_next_is_the_first_when_resumed(
    spark, tmp_path
):
    def slow(row):
        """The first time, it takes until the test says so."""
        (tmp_path / "begun").touch()
        while not (tmp_path / "go").exists():
            time.sleep(0.02)
        return row

    def start():
        rows = ms.read_files(tmp_path / "in", "json", EVENTS, name="rows", max_files_per_batch=1)
        slowly = rows.map(slow, EVENTS).collect("all")
        return slowly.run("slow", spark=spark, checkpoint=tmp_path / "checkpoint")

    put(tmp_path / "in", 0, events(("x", "ann", 1, 1.0)))
    put(tmp_path / "in", 1, events(("x", "bob", 2, 1.0)))
    job = start()
    until((tmp_path / "begun").exists, job)
    stopping = threading.Thread(target=job.stop)
    stopping.start()
    until(lambda: job.progress().state == "stopping")
    (tmp_path / "go").touch()
    stopping.join()
    assert job.progress().state == "stopped"
    assert [row["user"] for row in job.rows()] == ["ann"]
    assert job.stop().process_all().wait() is job, "what has ended is over"
    again = start().process_all().stop()
    assert [row["user"] for row in again.rows()] == ["bob"]


def test_what_a_batch_was_to_spark_is_let_go_soon_after_its_end(spark, tmp_path, monkeypatch):
    held = []

    def noted(last, frame, number):
        held.append(weakref.ref(frame._jdf))
        return written(last, frame, number)

    monkeypatch.setattr("millstream.spark.driver.job_batches.written", noted)
    rows = ms.read_files(tmp_path / "in", "json", EVENTS, max_files_per_batch=1).collect("all")
    for number in range(3):
        put(tmp_path / "in", number, events(("x", "ann", number, 1.0)))
    gc.disable()  # Python would let go of it some time, too
    try:
        job = rows.run("light", spark=spark, checkpoint=tmp_path / "checkpoint").process_all()
        until(lambda: len(held) == 3 and not any(each() for each in held), job)
        job.stop()
    finally:
        gc.enable()


def test_batches_leave_no_files_open_in_spark(spark, tmp_path):
    def put_many(*numbers: int) -> None:
        for number in numbers:
            put(tmp_path / "in", number, events(("x", "ann", number, float(number))))

    within = ms.bounded("5s")
    source = ms.read_files(tmp_path / "in", "json", EVENTS, "at", within, max_files_per_batch=1)
    totals = source.key_by("user").window(ms.fixed("1m")).aggregate(total=ms.sum("points"))
    put_many(*range(4))
    job = totals.collect("all").run("long", spark=spark, checkpoint=tmp_path / "checkpoint")
    job.process_all()
    before, batches = open_files(spark), job.progress().batches
    put_many(*range(4, 20))
    job.process_all()
    assert job.progress().batches >= batches + 16
    until(lambda: open_files(spark) < before + 16, job)  # each batch has two tasks with state
    job.stop()


def open_files(spark) -> int:
    """How many files and sockets Spark's JVM has open."""
    pid = spark.sparkContext._gateway.proc.pid
    folder = Path(f"/proc/{pid}/fd")
    if folder.exists():
        return len(list(folder.iterdir()))
    return len(subprocess.check_output(["lsof", "-p", str(pid)]).splitlines())  # on macOS


def test_a_second_ctrl_c_abandons_the_batch_under_way_and_resumed_it_is_done_again(spark, tmp_path):
    began, quick = tmp_path / "began", tmp_path / "quick"

    def slow(row):
        began.touch()
        while not quick.exists():
            time.sleep(0.1)
        return row

    put(tmp_path / "in", 1, [{"n": 1}])
    rows = ms.read_files(tmp_path / "in", "json", "n int", name="in").map(slow, "n int")
    program = rows.write_files(tmp_path / "out", "json", name="out")

    def interrupt():
        until(began.exists)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)

    job = program.run("twice", checkpoint=str(tmp_path / "checkpoints"), spark=spark)
    pressing = threading.Thread(target=interrupt)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        job.wait()
    pressing.join()
    assert job.progress().state == "stopped"
    assert not list((tmp_path / "out").glob("part-*"))
    quick.touch()
    job = program.run("twice", checkpoint=str(tmp_path / "checkpoints"), spark=spark)
    job.process_all().stop()
    (written,) = (tmp_path / "out").glob("part-*")
    assert written.read_text() == '{"n":1}\n'
