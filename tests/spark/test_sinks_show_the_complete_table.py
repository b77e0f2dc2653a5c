"""Sinks that keep the whole result table, over the life of a job and the next."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import millstream as ms
from millstream.model.errors import RunError


def put(folder: Path, number: int, *visits: tuple[str, float]) -> None:
    file = folder / f"{number}.json"
    file.write_text("\n".join(json.dumps({"user": user, "at": at}) for user, at in visits))
    os.utime(file, (1_000_000_000 + number,) * 2)


def seconds(instant: datetime) -> float:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


def test_a_resumed_job_has_the_whole_table_and_merged_windows_replace_their_parts(
    spark, tmp_path, capsys
):
    visits, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    visits.mkdir()
    source = ms.read_files(
        visits, "json", "user string, at double", "at", ms.bounded("1h"), max_files_per_batch=1
    )
    sessions = source.key_by("user").window(ms.session("10s"))
    sessions = sessions.trigger(ms.repeatedly(ms.after_count(1))).refine(ms.retracting)
    counts = sessions.aggregate(n=ms.count()).named("sessions")
    calls = []

    def job():
        program = ms.pipeline(
            counts.collect("table", mode="complete"),
            counts.drop("pane").write_console(name="console", mode="complete"),
            counts.write_each(
                lambda rows, batch, slice: calls.append((len(rows), batch)), "each", mode="complete"
            ),
        )
        return program.run("visits", checkpoint=checkpoint, spark=spark)

    def table(job):
        rows = [(r["user"], seconds(r["window"]["start"]), r["n"]) for r in job.rows("table")]
        return sorted(rows)

    put(visits, 0, ("ann", 0.0), ("ann", 20.0), ("bob", 5.0))
    first = job().process_all().stop()
    assert table(first) == [("ann", 0, 1), ("ann", 20, 1), ("bob", 5, 1)]
    assert calls == [(3, 0)]
    put(visits, 1, ("ann", 9.0), ("ann", 14.0), ("cid", 7.0))
    second = job().process_all().stop()
    assert table(second) == [("ann", 0, 4), ("bob", 5, 1), ("cid", 7, 1)]
    assert {row["kind"] for row in second.rows("table")} == {"+"}
    assert calls[-1] == (3, 1)
    printed = capsys.readouterr().out
    assert printed.count("console · batch") == 2
    assert printed.rpartition("console · batch 1")[2].count("ann") == 1
    # Beside the table, what is new must be refused: the rows of two batches are gone.
    late = counts.collect("new", mode="complete")
    with pytest.raises(RunError, match="MS224 in step 'new'.*has 2 batches"):
        late.run("visits", checkpoint=checkpoint, spark=spark)
