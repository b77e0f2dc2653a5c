"""A job that is killed at any point and resumed writes what one writes that never was.

One job dies at seven points, one after the other, five of them in a batch of their own and two in
timers; it is resumed after each, and at last comes to its end. Another one, in this process, has
the windows of that job, and is left alone.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from pyspark import cloudpickle

import millstream as ms
import mortal
import mortal_timers
from families import Family
from millstream.model.watermarks import WatermarkPolicy
from millstream.physical.plan import physical
from millstream.reference.interpreter import Interpreter
from millstream.spark.driver.checkpoint import opened
from millstream.system.folders import Folder

POINTS = {
    "read": 1,
    "step": 2,
    "before the commit": 3,
    "between two renames": 4,
    "after the commit": 5,
}
"""Where it dies, and in which batch."""
TIMERS = {"settled": 0, "silent": 2}
"""The timers in which it dies, by event time and by the clock, and the batch that set them."""
TEAMS = [f"team {n}" for n in range(12)]  # enough that each slice of a batch has some
MINUTES = 7
EACH_LIFE = 300.0  # seconds; a dozen are enough where nothing else runs


def scores_of(minute: int) -> list[tuple[int, str, int, float]]:
    """What comes in a minute, which is a batch: most of it in time, some of it late.

    When the minute begins, the watermark is 15 seconds before that. So the window of the minute
    before takes its row in time, the one before that takes it late, and an older one has expired.
    """
    if minute == MINUTES:
        return [(minute, "nobody", 0, 86_400.0)]  # a day later: all windows end
    rows = []
    for n, team in enumerate(TEAMS):
        start = minute * 60.0
        rows += [(minute, team, 10 * n + part, start + at) for part, at in enumerate((5, 25, 55))]
        if minute >= 1:
            rows.append((minute, team, 3, start - 40))
        if minute >= 2:
            rows.append((minute, team, 5, start - 90))
        if minute >= 3 and n % 3 == 0:
            rows.append((minute, team, 7, start - 150))
    return rows


def as_dicts(rows: list[tuple[int, str, int, float]]) -> list[dict[str, Any]]:
    return [dict(zip(("batch", "team", "points", "at"), row, strict=True)) for row in rows]


class Output(NamedTuple):
    """All that can be read of the totals, of the late rows, and of what each join makes."""

    totals: list[str]
    late: list[str]
    pairs: list[str]
    versions: list[str]


class Story(NamedTuple):
    """What came of the job that was killed, and of the one that was left alone."""

    killed: Output
    alone: Output
    exits: list[int]
    notes: dict[str, dict[str, Any]]
    folder: Path


def folder_with_input(folder: Path) -> Path:
    (folder / "input").mkdir(parents=True)
    (folder / "payments").mkdir()
    (folder / "deaths").mkdir()
    for minute in range(MINUTES + 1):
        write(folder / "input", minute, as_dicts(scores_of(minute)))
    for batch in range(mortal_timers.BATCHES + 1):
        write(folder / "payments", batch, mortal_timers.payments_of(batch))
    return folder


def write(folder: Path, batch: int, rows: list[dict[str, Any]]) -> None:
    file = folder / f"{batch}.json"
    file.write_text("\n".join(map(json.dumps, rows)))
    os.utime(file, (1_000_000_000 + batch,) * 2)  # Spark reads the oldest first


def output_of(folder: Path) -> Output:
    made = [pl.read_parquet(folder / name).to_dicts() for name in Output._fields]
    return Output(*map(in_order, made))


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as text, in an order that does not depend on who wrote them when."""
    return sorted(json.dumps(row, default=str) for row in rows)


def left_alone(folder: Path, spark) -> Output:
    # Workers of this session have not got this folder on their path.
    cloudpickle.register_pickle_by_value(mortal)
    program = mortal.program(folder, lambda point, batch: None)
    program.run("totals", checkpoint=folder / "checkpoint", spark=spark).process_all().stop()
    return output_of(folder)


def killed_and_resumed(folder: Path) -> list[int]:
    """Lives until the end of the input, as often as it takes; how each life ended."""
    points = [f"{point}={batch}" for point, batch in (POINTS | TIMERS).items()]
    exits: list[int] = []
    for life in range(2 * len(points)):
        log = folder / f"life-{life}.log"
        with Family(
            Path(mortal_timers.__file__), folder, *points, log=log, scratch=folder / "scratch"
        ) as family:
            code = family.ended(within=EACH_LIFE)
        assert family.members() == []
        assert code in (0, -signal.SIGKILL), family.printed()
        exits.append(code)
        if code == 0:
            break
    return exits


@pytest.fixture(scope="module")
def story(tmp_path_factory, spark) -> Story:
    alone = folder_with_input(tmp_path_factory.mktemp("alone"))
    killed = folder_with_input(tmp_path_factory.mktemp("killed"))
    exits = killed_and_resumed(killed)
    notes = {note.name: json.loads(note.read_text()) for note in killed.glob("deaths/*")}
    return Story(output_of(killed), left_alone(alone, spark), exits, notes, killed)


def test_it_dies_once_at_each_point_and_then_comes_to_the_end(story):
    assert story.exits == [-signal.SIGKILL] * len(POINTS | TIMERS) + [0]
    assert story.notes.keys() == (POINTS | TIMERS).keys()


def test_the_output_is_that_of_a_job_that_was_left_alone(story):
    assert story.killed.totals == story.alone.totals
    assert story.killed.late == story.alone.late
    assert story.killed.pairs == story.alone.pairs
    assert story.killed.versions == story.alone.versions


def test_no_pane_is_there_twice(story):
    assert len(set(story.killed.totals)) == len(story.killed.totals)


def test_the_output_is_that_of_the_reference(story):
    sinks = mortal.program(story.folder, lambda point, batch: None).sinks
    interpreter = Interpreter(*sinks)
    made: dict[str, list[dict[str, Any]]] = {sink.name: [] for sink in sinks}
    for minute in range(MINUTES + 1):
        rows = as_dicts(scores_of(minute))
        watermark = max(row["at"] for row in rows) - 10
        step = interpreter.step(
            rows={"scores": rows}, watermarks={"scores": int(watermark * 1_000_000)}
        )
        for sink in sinks:
            made[sink.name] += [row.values for row in step.rows[sink]]
    assert story.killed == Output(*(in_order(made[name]) for name in Output._fields))
    assert {row["pane"]["timing"] for row in made["totals"]} == {"EARLY", "ON_TIME", "LATE"}
    joins = {(row["by"], row["kind"]) for row in made["pairs"]}
    assert joins == {(by, k) for by in ("window", "interval", "regular", "cogroup") for k in "+-"}


def test_every_row_is_in_a_total_or_late(story):
    rows = [row for minute in range(MINUTES + 1) for row in scores_of(minute)]
    points = sum(points for _, _, points, _ in rows)
    totals = pl.read_parquet(story.folder / "totals")
    standing = sum(n if kind == "+" else -n for n, kind in totals["total", "kind"].iter_rows())
    late = pl.read_parquet(story.folder / "late")
    assert standing + sum(late["points"]) == points
    assert late.height == (MINUTES - 3) * len(TEAMS) // 3


def moves(story: Story, *what: str) -> list[dict[str, Any]]:
    """What the accounts reported of rows and timers."""
    found = mortal_timers.moves_in(story.folder).filter(pl.col("what").is_in(what)).to_dicts()
    return sorted(found, key=str)


def test_rows_and_timers_by_event_time_give_what_the_reference_gives(story):
    (sink,) = mortal_timers.program(story.folder, lambda point, batch: None).sinks
    interpreter = Interpreter(sink)
    expected = []
    for batch in range(mortal_timers.BATCHES + 1):
        rows = mortal_timers.payments_of(batch)
        watermark = max(row["at"] for row in rows) - 10
        made = interpreter.step(
            rows={"payments": rows}, watermarks={"payments": int(watermark * 1_000_000)}
        )
        expected += [row.values for row in made.rows[sink]]
    assert moves(story, "row", "settled") == sorted(expected, key=str)


def test_each_timer_by_the_clock_fires_once(story):
    fired = Counter((move["account"], move["batch"]) for move in moves(story, "silent"))
    expected = [(a, n) for a in mortal_timers.ACCOUNTS for n in range(mortal_timers.BATCHES)]
    assert fired == Counter(expected)


def test_nothing_is_left_of_what_was_under_way(story):
    assert [f for f in story.folder.glob("*/_millstream/**/*") if f.is_file()] == []


@pytest.mark.parametrize("point", POINTS)
def test_the_batch_was_begun_and_not_committed_by_spark(story, point):
    files, batch = story.notes[point]["files"], POINTS[point]
    assert f"checkpoint/totals/spark/offsets/{batch}" in files
    assert f"checkpoint/totals/spark/commits/{batch - 1}" in files
    assert f"checkpoint/totals/spark/commits/{batch}" not in files


def test_it_died_while_the_source_was_read(story):
    assert places(story, "read") & {"python_stage", "stateful_stage", "processor"} == {
        "python_stage"
    }
    assert parts(story, "read") == {"totals": 0, "late": 0}


def test_it_died_inside_the_stateful_operator(story):
    assert places(story, "step") >= {"stateful_stage", "processor"}
    assert parts(story, "step") == {"totals": 0, "late": 0}


def test_it_died_after_the_state_was_committed_and_before_the_sinks_were(story):
    files = story.notes["before the commit"]["files"]
    # The state before batch n is version n, and the state after it version n + 1.
    version = POINTS["before the commit"] + 1
    states = [re.match(rf".*/state/0/(\d+)/{version}\.(changelog|zip)$", file) for file in files]
    assert {state[1] for state in states if state} == {str(n) for n in range(partitions(files))}
    assert parts(story, "before the commit") == {"totals": 0, "late": 0}
    assert decisions(story, "before the commit") == 0


def test_it_died_between_two_renames_of_a_commit(story):
    assert parts(story, "between two renames") == {"totals": 1, "late": 0}
    assert decisions(story, "between two renames") == 1
    assert parts_in_the_end(story, "between two renames")["totals"] > 1


def test_it_died_after_the_sinks_were_committed(story):
    seen = parts(story, "after the commit")
    assert seen == parts_in_the_end(story, "after the commit")
    assert min(seen.values()) > 0
    assert decisions(story, "after the commit") == 0


def places(story: Story, point: str) -> set[str]:
    """The modules of Millstream that were at work."""
    return set(
        re.findall(r"millstream/spark/worker/(\w+)\.py", "".join(story.notes[point]["stack"]))
    )


def parts(story: Story, point: str) -> dict[str, int]:
    """How many files of the batch readers could see."""
    return parts_in(story.notes[point]["files"], POINTS[point])


def parts_in_the_end(story: Story, point: str) -> dict[str, int]:
    return parts_in(mortal.files_in(story.folder), POINTS[point])


def parts_in(files: list[str], batch: int) -> dict[str, int]:
    part = re.compile(rf"(totals|late)/part-\w+-{batch:010}-")
    seen = [found[1] for found in map(part.match, files) if found]
    return {sink: seen.count(sink) for sink in ("totals", "late")}


def decisions(story: Story, point: str) -> int:
    """How many commits were decided and not yet done."""
    files = story.notes[point]["files"]
    return len([file for file in files if re.match(r"\w+/_millstream/.*\.json$", file)])


def partitions(files: list[str]) -> int:
    """How many partitions Spark keeps the state in."""
    return len({found[1] for file in files if (found := re.match(r".*/state/0/(\d+)/", file))})


def test_a_job_that_is_killed_while_it_writes_its_plan_begins_anew(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(self, name, to):
        raise Killed

    plan = physical(ms.from_rows([(1,)], schema="n int").collect().sinks)
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "move", killed)
        with pytest.raises(Killed):
            opened("job", str(tmp_path), plan, [0, 1], None)
    first = opened("job", str(tmp_path), plan, [0, 1], None)
    assert opened("job", str(tmp_path), plan, [0, 1], None).run == first.run


def test_a_job_that_is_killed_while_it_copies_its_rows_copies_them_again(tmp_path, spark):
    # A table that Spark has begun to write.
    (tmp_path / "job" / "rows" / "numbers" / "_temporary" / "0").mkdir(parents=True)
    numbers = ms.from_rows([(1,), (2,)], schema="n int", name="numbers")
    job = numbers.collect().run("job", checkpoint=tmp_path, spark=spark)
    assert job.rows() == [{"n": 1}, {"n": 2}]


def resumed(folder: Path, watermark: WatermarkPolicy, **source: Any) -> None:
    """Opens the checkpoint of a count with this policy and source."""
    columns = "host string, at timestamp"
    rows = ms.read_files(
        "/in", schema=columns, event_time="at", watermark=watermark, name="rows", **source
    )
    counts = rows.window(ms.fixed("1m")).aggregate(n=ms.count())
    opened("job", str(folder), physical(counts.collect().sinks), [0, 1], None)


def test_a_policy_may_guess_otherwise_when_the_job_is_resumed(tmp_path):
    resumed(tmp_path, ms.bounded("5s", idle="1m"))
    resumed(tmp_path, ms.bounded("9s", idle="2m"))
    resumed(tmp_path, ms.ascending(idle="2m"))


@pytest.mark.parametrize(
    ("watermark", "source", "says"),
    [
        # Spark would only say that it cannot change timeMode, once the first batch has begun.
        (ms.bounded("5s", idle="1m"), {}, "+by the clock: triggers, or splits that are idle"),
        # What the one split had reported would hold the watermark for ever.
        (ms.bounded("5s"), {"split": "host"}, "+files 'rows', split by host"),
        # All rows would be read again, from another folder.
        (ms.bounded("5s"), {"bounded": True}, "+files 'rows', which ends"),
    ],
)
def test_a_source_that_the_state_does_not_know_is_refused(tmp_path, watermark, source, says):
    resumed(tmp_path, ms.bounded("5s"))
    with pytest.raises(ms.MillstreamError, match="MS207") as caught:
        resumed(tmp_path, watermark, **source)
    assert says in [line.strip() for line in caught.value.what.splitlines()]
