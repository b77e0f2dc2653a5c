"""``millstream jobs``: lists, shows, stops, resumes and deletes jobs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from millstream.cli.application import Application
from millstream.cli.connecting import pairs
from millstream.cli.launching import Launch
from millstream.cli.printing import AsJson, print_json, print_line, print_note, print_table
from millstream.cli.run import App, Set
from millstream.jobs import control
from millstream.jobs.logs import log_file
from millstream.jobs.metrics_server import MetricsServer, current_metrics
from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.entries import JobEntry, RunEntry, moment_text
from millstream.jobs.registry.registry import opened_registry
from millstream.jobs.supervisor import detach
from millstream.model.amounts import counted
from millstream.model.errors import RunError

app = typer.Typer(help="Jobs: what runs, how it goes, and how it ended.", no_args_is_help=True)

_Name: TypeAlias = Annotated[
    str, typer.Argument(metavar="JOB", help="The name or id of a job.", show_default=False)
]
_Timeout: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for its end.")
]


@app.command("list")
def list_jobs(as_json: AsJson = False) -> None:
    """The jobs of this data directory, with their states."""
    jobs = _all_jobs()
    if as_json:
        print_json([{**job.to_dict(), "plan": None} for job in jobs])
    elif jobs:
        columns = ["name", "state", "rows", "rows/s", "lag", "since", "owner", "id", "program"]
        print_table(columns, map(_listed, jobs))
    else:
        print_note(f"no jobs are recorded in {registry_file().parent}")


@app.command()
def show(name: _Name, as_json: AsJson = False) -> None:
    """A job: its state, its steps and its runs."""
    with opened_registry() as registry:
        job = registry.job(name)
        runs = registry.runs(job.id)
    if as_json:
        print_json({**job.to_dict(), "runs": [run.to_dict() for run in runs]})
        return
    print_line(f"{job.name}: {job.state}")
    for label, value in _about(job):
        print_line(f"  {label:<10}  {value}")
    if job.run is not None and job.run.reason and job.state in ("failed", "lost", "starting"):
        print_line()
        print_line(job.run.reason)
    if job.plan is not None:
        print_line()
        columns = ["step", "kind", "tasks", "rows in", "rows out", "state", "late", "rejected"]
        print_table(columns, _steps(job))
    print_line()
    print_table(["run", "state", "started", "ended", "batches", "rows", "code"], map(_run, runs))


@app.command()
def logs(
    name: _Name,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")
    ] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new lines.")] = False,
) -> None:
    """What a job has printed and logged, if `millstream run` has started it."""
    with opened_registry() as registry:
        job = registry.job(name)
        log = log_file(registry.file, job.name, job.id)
    if not log.exists():
        raise RunError(
            "MS228",
            f"job {job.name!r} has no log in the data directory",
            fix="it is where its program was started: only jobs that run with --detach, and "
            "failures of 'millstream run', are logged there",
        )
    command = ["tail", "-n", str(lines), *(["-F"] if follow else []), str(log)]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=False)


@app.command()
def metrics(
    serve: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=0, max=65535, help="Serve them at /metrics until Ctrl-C."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address that is listened on.")] = "127.0.0.1",
) -> None:
    """The metrics of all jobs as text for Prometheus."""
    if serve is None:
        print_line(current_metrics().rstrip("\n"))
        return
    with MetricsServer(host, serve) as server, suppress(KeyboardInterrupt):
        print_line(f"serving {server.url}")
        server.serve_forever()


@app.command()
def stop(
    name: _Name,
    timeout: _Timeout = 120.0,
    as_json: AsJson = False,
) -> None:
    """Stops a job after the batch under way, and waits for its end."""
    with opened_registry() as registry:
        job = control.stop(registry, registry.job(name), timeout)
    if as_json:
        print_json(job.to_dict())
    else:
        print_line(f"{job.name} is {job.state}")


@app.command()
def savepoint(
    name: _Name,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to put it.")],
    as_json: AsJson = False,
) -> None:
    """Copies the checkpoint of a job that does not run."""
    from millstream.jobs.savepoints import make_savepoint

    with opened_registry() as registry:
        made = make_savepoint(registry.job(name), folder)
    if as_json:
        print_json({"savepoint": made})
    else:
        print_line(f"copied to {made}")


@app.command()
def resume(
    name: _Name,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FOLDER", help="A savepoint, instead of its checkpoint."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Starts a job again in the background, from its checkpoint."""
    with opened_registry() as registry, registry.transaction():
        job = registry.job(name)
        control.check_can_resume(registry, job)
        if source is not None:
            from millstream.jobs.savepoints import restore_savepoint

            kept = restore_savepoint(job, source)
            if kept is not None:
                print_note(f"its checkpoint is kept in {kept}")
        log = detach(registry, job)
    _print_started(job, log, as_json)


@app.command()
def upgrade(
    name: _Name,
    program: App,
    set_: Set = None,
    timeout: _Timeout = 120.0,
    as_json: AsJson = False,
) -> None:
    """Replaces the program of a job: checks that it can continue with the state, and restarts it.

    A job that runs is stopped first, after the batch under way. Its settings stay what they are,
    unless `--set` gives others.
    """
    from millstream.jobs.upgrades import check_upgrade

    application = Application.parse(program)
    with opened_registry() as registry:
        job = registry.job(name)
        control.check_has_launch(job)
        assert job.launch is not None
        launch = Launch.from_dict(job.launch).upgraded(application, set_)
        pipeline = application.pipeline(pairs(list(launch.settings), "--set"))
        check_upgrade(job, pipeline.sinks)  # before the old program is stopped
        if job.is_alive:
            control.stop(registry, job, timeout)
        with registry.transaction():
            control.check_can_resume(registry, job)
            file, folder = str(application.file.absolute()), job.checkpoint
            registry.register(job.name, file, folder, launch.to_dict())
            log = detach(registry, registry.job(job.id))
    _print_started(job, log, as_json)


@app.command()
def rescale(
    name: _Name,
    shards: Annotated[int, typer.Argument(metavar="N", min=1, help="How many shards.")],
    timeout: _Timeout = 120.0,
    as_json: AsJson = False,
) -> None:
    """Redistributes the state of a job over N shards, and restarts it.

    A job that runs is stopped first, after the batch under way. The old checkpoint is kept.
    """
    from millstream.jobs import rescaling

    with opened_registry() as registry:
        job = registry.job(name)
        if job.is_alive:
            job = control.stop(registry, job, timeout)
        made = rescaling.rescale(job, shards)
        shown = f"{job.name} has {counted(made.shards, 'shard')}, and had {made.before}"
        print_note(f"{shown}; the checkpoint of before is kept in {made.kept}")
        if job.launch is None:
            if as_json:
                print_json({"rescaled": job.name, "shards": made.shards, "kept": made.kept})
            return
        with registry.transaction():
            control.check_can_resume(registry, job)
            log = detach(registry, job)
    _print_started(job, log, as_json)


@app.command()
def delete(
    name: _Name,
    checkpoint: Annotated[
        bool, typer.Option("--checkpoint", help="Delete its checkpoint as well.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Removes a job that does not run from the registry, with its history and its log."""
    with opened_registry() as registry:
        job = registry.job(name)
        if checkpoint and not yes:
            what = f"Delete {job.checkpoint}, with all state of the job?"
            typer.confirm(what, abort=True, err=True)
        control.delete(registry, job, checkpoint)
    if as_json:
        print_json({"deleted": [job.name]})
    else:
        print_line(f"deleted {job.name}")


def _print_started(job: JobEntry, log: Path, as_json: bool) -> None:
    if as_json:
        print_json({"started": job.name, "id": job.id, "log": str(log)})
    else:
        print_line(f"started {job.name} (id {job.id}), log {log}")


def _all_jobs() -> list[JobEntry]:
    """The jobs, without making a registry where there is none."""
    if not registry_file().exists():
        return []
    with opened_registry() as registry:
        return registry.jobs()


def _listed(job: JobEntry) -> tuple[object, ...]:
    progress = _progress(job)
    lag = progress.get("watermark_lag_seconds")
    rate = progress.get("rows_per_second") if job.state == "running" else None
    since = None if job.run is None else job.run.ended or job.run.started
    return (
        job.name,
        job.state,
        progress.get("rows"),
        rate,
        None if lag is None else f"{lag:.0f} s",
        None if since is None else moment_text(since),
        job.owner,
        job.id,
        job.program,
    )


def _about(job: JobEntry) -> Iterable[tuple[str, object]]:
    yield "id", job.id
    yield "owner", job.owner
    yield "program", job.program
    yield "checkpoint", job.checkpoint
    if job.run is not None:
        place = job.run.place
        yield "process", f"{place.process.pid} on {place.host}"
    progress = _progress(job)
    if progress.get("watermark"):
        yield "watermark", progress["watermark"]


def _steps(job: JobEntry) -> Iterable[tuple[object, ...]]:
    assert job.plan is not None
    progress = {each["id"]: each for each in _progress(job).get("steps", ())}
    for step in job.plan["steps"]:
        done = progress.get(step["id"], {})
        counts = [done.get(name) for name in ("rows_in", "rows_out", "state_rows")]
        alarms = [done.get(name) for name in ("late", "rejected")]
        yield step["id"], step["kind"], step.get("parallelism"), *counts, *alarms


def _run(run: RunEntry) -> tuple[object, ...]:
    progress = run.progress or {}
    return (
        run.number,
        run.state,
        moment_text(run.started),
        None if run.ended is None else moment_text(run.ended),
        progress.get("batches"),
        progress.get("rows"),
        run.code,
    )


def _progress(job: JobEntry) -> dict[str, Any]:
    return (job.run and job.run.progress) or {}
