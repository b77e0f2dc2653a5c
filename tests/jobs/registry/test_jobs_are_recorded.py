"""A job that runs with a checkpoint is in the registry, with its plan, its runs and its metrics."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import RunError


def totals(folder, fails=False):
    """Totals by team of files, with a step in Python."""

    def double(row):
        if fails:
            raise ValueError("no such team")
        return {**row, "points": 2 * row["points"]}

    scores = ms.read_files(
        folder / "input", format="json", schema="team string, points int", name="scores"
    )
    doubled = scores.map(double, schema="team string, points int").named("doubled")
    early = ms.repeatedly(ms.after_count(1))
    grouped = doubled.key_by("team").window(ms.global_window()).trigger(early)
    return grouped.aggregate(total=ms.sum("points")).named("totals").collect("totals")


def add_file(folder, name, *rows):
    (folder / "input").mkdir(exist_ok=True)
    lines = [f'{{"team": "{team}", "points": {points}}}\n' for team, points in rows]
    (folder / "input" / name).write_text("".join(lines))


def test_a_job_is_recorded_with_its_plan_its_runs_and_its_batches(spark, registry, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    add_file(tmp_path, "a.json", ("red", 3), ("blue", 4))
    got = []
    job = totals(tmp_path).run("totals", checkpoint=checkpoint, spark=spark, on_batch=got.append)
    job.process_all()
    assert got[0].rows == 2
    steps = {each.id: each for each in job.progress().steps}
    rows = {name: (step.rows_in, step.rows_out) for name, step in steps.items()}
    assert rows == {
        "scores": (2, 2), "doubled": (2, 2), "totals": (2, 2), "sink:totals": (2, None)
    }  # fmt: skip
    assert (steps["totals"].state_rows, steps["doubled"].state_rows) == (2, 0)
    assert registry.job("totals").state == "running"
    job.stop()
    entry = registry.job("totals")
    assert entry.state == "stopped"
    assert entry.checkpoint == str(checkpoint / "totals")
    assert [(each["id"], each["kind"]) for each in entry.plan["steps"]] == [
        ("scores", "files"), ("doubled", "map"), ("totals", "aggregate"), ("sink:totals", "collect")
    ]  # fmt: skip
    shards = int(spark.conf.get("spark.sql.shuffle.partitions"))
    assert [each["parallelism"] for each in entry.plan["steps"]] == [None, None, shards, shards]
    first = registry.batches(entry.id)[0]
    assert (first["rows"], first["taken"]["totals"], first["emitted"]["totals"]) == (2, 2, 2)
    assert first["phases"].keys() == {"process", "commit"}
    assert first["state"]["totals"][0] == 2
    assert "stage 1" in entry.plan["physical"]
    panes = [each for batch in registry.samples(entry.id) for each in batch["samples"]]
    assert {(step, kind) for step, kind, _ in panes} == {("totals", "pane")}
    made = {each["key"]["team"]: each["values"] for _, _, each in panes}
    assert made == {"red": {"total": 6}, "blue": {"total": 8}}

    add_file(tmp_path, "b.json", ("red", 1))
    failing = totals(tmp_path, fails=True).run("totals", checkpoint=checkpoint, spark=spark)
    with pytest.raises(RunError, match="MS201"):
        failing.wait()
    runs = registry.runs(entry.id)
    assert [(each.number, each.state, each.code) for each in runs] == [
        (2, "failed", "MS201"), (1, "stopped", None)
    ]  # fmt: skip
    assert "no such team" in runs[0].reason


def test_a_job_that_cannot_start_is_recorded_as_failed(spark, registry, tmp_path):
    add_file(tmp_path, "a.json", ("red", 3))
    missing = ms.read_files(tmp_path / "nothing", format="json", schema="n int", bounded=True)
    with pytest.raises(RunError, match="MS215"):
        missing.collect().run("missing", checkpoint=tmp_path / "checkpoint", spark=spark)
    assert (registry.job("missing").state, registry.job("missing").run.code) == ("failed", "MS215")


def test_a_job_without_a_checkpoint_is_not_recorded(registry):
    ms.from_rows([(1,)], schema="n int").collect().run("small")
    assert registry.jobs() == []
