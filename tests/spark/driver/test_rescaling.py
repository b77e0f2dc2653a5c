"""A job whose state is redistributed continues as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import millstream as ms
from checkpoints import noted
from millstream.engine.state.blobs import VERSION
from millstream.jobs.registry.registry import opened_registry
from millstream.jobs.rescaling import rescale
from millstream.jobs.stored_state import rows_of_key, state_of
from millstream.model.errors import RunError
from millstream.sinks.fence import NO_FENCE
from millstream.spark.driver.rescaling import Rescaling
from millstream.spark.driver.stopped_batch import note_untouched

KEYS = 20


class Sessions:
    """Sums of a minute in sessions of three, with batches by the clock: two stages of state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "input").mkdir()

    def add(self, first: int, last: int) -> None:
        """A row for each second, for one key after the other."""
        rows = (
            {"key": f"k{i % KEYS}", "value": i, "at": f"2026-01-01T00:{i // 60:02}:{i % 60:02}Z"}
            for i in range(first, last)
        )
        file = self.folder / f"{first}.tmp"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        file.rename(self.folder / "input" / f"{first}.json")

    def run(self) -> None:
        """Processes all that is there, and stops."""
        rows = ms.read_files(
            f"{self.folder}/input",
            format="json",
            schema="key string, value int, at timestamp",
            event_time="at",
            watermark=ms.bounded("10s", idle="1h"),
            name="rows",
        )
        minutes = rows.key_by("key").window(ms.fixed("1m")).aggregate(total=ms.sum("value"))
        sessions = minutes.named("minutes").key_by("key").window(ms.session("3m"))
        totals = sessions.aggregate(total=ms.sum("total")).named("sessions")
        written = totals.select("key", "total").write_files(
            f"{self.folder}/output", format="json", name="output"
        )
        written.run("rescaled", checkpoint=f"{self.folder}/checkpoints").process_all().stop()

    def written(self) -> list[tuple[str, int]]:
        files = (self.folder / "output").glob("part-*")
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return sorted((row["key"], row["total"]) for row in rows)


@pytest.fixture
def sessions(tmp_path, spark):
    return Sessions(tmp_path)


def test_sessions_are_the_same_over_other_shards(sessions):
    sessions.add(0, 200)
    sessions.run()
    with opened_registry() as registry:
        (job,) = (j for j in registry.jobs() if j.checkpoint.startswith(str(sessions.folder)))
    before = {each["step"]: each for each in state_of(job)}
    # The watermark is 00:03:09: three minutes have ended, and the fourth has 20 rows.
    assert (before["minutes"]["rows"], before["sessions"]["rows"]) == (KEYS, KEYS)
    assert before["minutes"]["oldest_window"] == "2026-01-01T00:03:00+00:00"
    assert before["minutes"]["watermark"] == "2026-01-01T00:03:09+00:00"
    assert before["sessions"]["oldest_window"] == "2026-01-01T00:00:59.999999+00:00"
    (minute, session) = rows_of_key(job, ["k7"])
    assert (minute["step"], minute["rows"][0]["value 0.sum"]) == ("minutes", 187)
    assert session["rows"][0]["value 0.sum"] == sum(range(7, 180, KEYS))
    assert rows_of_key(job, ["k7"], "sessions") == [session]
    with pytest.raises(RunError, match=r"MS228.*no state of a step 'minute'(?s:.*)minutes"):
        state_of(job, "minute")

    made = rescale(job, 3)
    assert (made.before, made.shards) == (2, 3)
    assert made.rows == {"minutes": KEYS, "sessions": KEYS}
    after = {each["step"]: each for each in state_of(job)}
    assert {each["shards"] for each in after.values()} == {3}
    sessions.add(200, 300)
    sessions.run()
    sessions.add(3000, 3001)  # ends all sessions
    sessions.run()
    expected = {f"k{i}": sum(range(i, 300, KEYS)) for i in range(KEYS)}
    assert sessions.written() == sorted(expected.items())
    assert (Path(made.kept) / "plan.json").exists()


def test_a_batch_that_was_not_finished_must_be_retried_first(tmp_path):
    noted(tmp_path / "job", [0], [1])
    plan = {"version": VERSION, "run": "x" * 32, "labels": [0], "file_tasks": None, "plan": []}
    (tmp_path / "job/plan.json").write_text(json.dumps(plan))
    (tmp_path / "job/spark/commits").mkdir()
    (tmp_path / "job/spark/commits/0").write_text("v1\n{}")
    given = ("job", f"{tmp_path}/job", f"{tmp_path}/new", 4)
    with pytest.raises(RunError, match=r"MS235.*not committed(?s:.*)jobs resume job"):
        Rescaling.of(*given)
    note_untouched(f"{tmp_path}/job", 1, NO_FENCE)
    assert Rescaling.of(*given).batch == 0
