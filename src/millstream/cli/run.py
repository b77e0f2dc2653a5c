"""``millstream run``: runs the pipeline of a file as a job, here or in the background."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer

from millstream.cli.application import Application
from millstream.cli.connecting import pairs
from millstream.cli.interrupting import EXIT_CODE
from millstream.cli.launching import Launch
from millstream.cli.printing import AsJson, print_json, print_line
from millstream.jobs.control import check_is_free
from millstream.jobs.logs import log_file, write_line
from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.registry import Registry, job_id, opened_registry
from millstream.jobs.supervisor import detach
from millstream.model.errors import MillstreamError
from millstream.pipeline import Pipeline
from millstream.plan.names import checked_job_name
from millstream.reports.outcome import error_text
from millstream.system.interrupts import on_termination

App: TypeAlias = Annotated[
    str, typer.Argument(metavar="APP.PY[:NAME]", show_default=False, help="A file, and a pipeline.")
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An argument of the function that returns the pipeline. May be repeated.",
    ),
]

_MASTER = re.compile(r"(spark|k8s)://.+|yarn|local(\[.+\])?")


def command(
    app: App,
    set_: Set = None,
    name: Annotated[
        str | None,
        typer.Option(help="The name of the job. Default: that of the pipeline or file."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="The folder of checkpoints. Default: in the data directory."
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A Spark cluster, such as spark://host:7077."),
    ] = None,
    archive: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="For a cluster: what `millstream pack` has made."),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="A setting of Spark, with `--master`. May be repeated."
        ),
    ] = None,
    detached: Annotated[
        bool, typer.Option("--detach", "-d", help="Run it in the background, supervised.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Runs a pipeline as a job, which resumes from its checkpoint.

    Without `--detach` it runs until it ends or Ctrl-C is pressed.
    """
    application = Application.parse(app)
    settings = pairs(set_, "--set")
    job_name = checked_job_name(name or application.job_name)
    folder = checkpoint or str(registry_file().parent / "checkpoints")
    spark_settings = _spark_settings(master, archive, conf)
    options = ["--checkpoint", folder]
    for option, given in (("--master", master), ("--archive", archive)):
        options += [option, given] if given else []
    options += [part for each in conf or () for part in ("--conf", each)]
    launch = Launch.of(application, job_name, set_ or [], options)
    with _recorded(application, job_name, f"{folder.rstrip('/')}/{job_name}", launch) as job:
        pipeline = application.pipeline(settings)
        if detached:
            _detach(job, job_name, pipeline, as_json)
            return
        sys.argv = [str(application.file)]  # what the job is recorded as
        spark = None
        if master is not None:
            spark = _session(master, job_name, application, spark_settings)
        try:
            # While it starts, and in bounded input, SIGTERM does what Ctrl-C does; wait() has both.
            with on_termination(signal.default_int_handler):
                running = pipeline.run(job_name, checkpoint=folder, spark=spark)
            running.wait()
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_CODE) from None


def _detach(job: str, name: str, pipeline: Pipeline, as_json: bool) -> None:
    from millstream.jobs.launch import check_start

    check_start(pipeline.sinks)
    with opened_registry() as registry, registry.transaction():
        check_is_free(registry, name)  # nobody else can start it meanwhile
        log = detach(registry, registry.job(job))
    if as_json:
        print_json({"started": name, "id": job, "log": str(log)})
    else:
        print_line(f"started {name} (id {job}), log {log}")


@contextmanager
def _recorded(application: Application, name: str, folder: str, launch: Launch) -> Iterator[str]:
    """Registers the job, whose id it gives, and records what fails in the block."""
    job = job_id(folder)
    with _without_registry(), opened_registry() as registry, registry.transaction():
        check_is_free(registry, name)
        if all(each.id != job for each in registry.jobs()):
            application.check_file()  # a slip of the keyboard makes no job
        registry.register(name, str(application.file.absolute()), folder, launch.to_dict())
    try:
        yield job
    except typer.Exit:
        raise
    except Exception as error:
        with _without_registry(), opened_registry() as registry:
            _record(registry, job, name, error)
        raise


@contextmanager
def _without_registry() -> Iterator[None]:
    """A job runs without a registry, too, and warns of that itself."""
    try:
        yield
    except MillstreamError as error:
        if error.code != "MS225":
            raise


def _record(registry: Registry, job: str, name: str, error: Exception) -> None:
    """Records an error as that of a run, unless the run has done so itself."""
    entry = registry.job(job)
    run = entry.run
    if entry.supervisor is None:  # else what is printed is in the log
        write_line(log_file(registry.file, name, job), error_text(error))
    recorded = run is not None and run.place.process.pid == os.getpid()
    if not recorded and not (isinstance(error, MillstreamError) and error.code == "MS209"):
        registry.fail_run(registry.begin_run(job), error_text(error))


def _spark_settings(
    master: str | None, archive: str | None, conf: list[str] | None
) -> dict[str, str]:
    if master is None and (archive or conf):
        raise typer.BadParameter("--archive and --conf need --master, which names a cluster")
    if master is not None and not _MASTER.fullmatch(master):
        raise typer.BadParameter(
            f"{master!r} is none of spark://HOST:PORT, yarn, k8s://URL, local and local[N]",
            param_hint="--master",
        )
    from millstream.jobs.packing import settings_of

    packed = {} if archive is None else settings_of(archive)
    return {**packed, **pairs(conf, "--conf")}


def _session(
    master: str,
    name: str,
    application: Application,
    settings: dict[str, str],
) -> Any:
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.session import session_on

    with explained():  # of a master that does not answer, for one
        session = session_on(master, name, settings)
    session.sparkContext.addPyFile(str(application.file.absolute()))  # its functions run there
    return session
