"""The routes of jobs: the list, a job, its log, its news as they happen, stop and resume."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.console.answers import answer, bad_request, fields, whole
from millstream.console.events import event_stream
from millstream.console.job_views import clock, job_list, job_news, job_page
from millstream.console.settings import Settings
from millstream.jobs import control
from millstream.jobs.logs import before, log_file
from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.registry import Registry
from millstream.jobs.supervisor import detach
from millstream.model.errors import RunError
from millstream.reports.masking import masked

_MOST_LOG = 256 << 10  # bytes
_HISTORY = 3600.0  # seconds of batches that a page begins with


@contextmanager
def _registry(request: Request) -> Iterator[Registry | None]:
    """The registry, or None: looking at jobs does not create one."""
    settings: Settings = request.app.state.settings
    file = registry_file(settings.data)
    if not file.exists():
        yield None
        return
    registry = Registry(file)
    try:
        yield registry
    finally:
        registry.close()


def _jobs(request: Request) -> dict[str, Any]:
    now = clock()
    with _registry(request) as registry:
        jobs = [] if registry is None else job_list(registry, now)
    return {"jobs": jobs, "now": now}


def _existing(registry: Registry | None, name: str) -> Registry:
    if registry is None:
        raise RunError(
            "MS226",
            f"there is no job {name!r}, and no registry yet",
            fix="start one: millstream run",
        )
    return registry


def jobs(request: Request) -> Response:
    """All jobs."""
    return answer(_jobs(request))


async def jobs_events(request: Request) -> Response:
    """All jobs, again whenever something has changed."""
    return await event_stream(request, lambda: _jobs(request))


def job(request: Request) -> Response:
    """One job, with its plan and its runs."""
    with _registry(request) as registry:
        name = request.path_params["job"]
        return answer(job_page(_existing(registry, name), name, clock()))


async def job_events(request: Request) -> Response:
    """What changes of a job: its state, its batches, its samples."""
    name = request.path_params["job"]
    since = [clock() - whole(request, "seconds", int(_HISTORY), 0, 7 * 86400)]

    def news() -> dict[str, Any]:
        with _registry(request) as registry:
            found = job_news(_existing(registry, name), name, since[0], clock())
        # A batch is recorded soon after it has ended, and another one may end in between.
        ends = [each["ended"] for each in (*found["batches"], *found["samples"])]
        since[0] = max([since[0], *(at + 1e-6 for at in ends)])
        return found

    await run_in_threadpool(news_exists, request, name)
    return await event_stream(request, news)


def news_exists(request: Request, name: str) -> None:
    """MS226 at once if there is no such job."""
    with _registry(request) as registry:
        _existing(registry, name).job(name)


def job_log(request: Request) -> Response:
    """The end of a job's log."""
    with _registry(request) as registry:
        known = _existing(registry, request.path_params["job"])
        found = known.job(request.path_params["job"])
        log = log_file(known.file, found.name, found.id)
    text, left_out = _end_of(log)
    return answer({"there": log.exists(), "lines": masked(text).splitlines(), "cut": left_out})


def stop(request: Request) -> Response:
    """Asks a job to stop after the batch under way."""
    with _registry(request) as registry:
        known = _existing(registry, request.path_params["job"])
        found = known.job(request.path_params["job"])
        control.request_stop(known, found)
    return answer({"stopping": found.name})


def resume(request: Request) -> Response:
    """Starts a job again in the background, from its checkpoint."""
    with _registry(request) as registry:
        known = _existing(registry, request.path_params["job"])
        with known.transaction():
            found = known.job(request.path_params["job"])
            control.check_can_resume(known, found)
            detach(known, found)
    return answer({"started": found.name})


async def delete(request: Request) -> Response:
    """Removes a job that does not run, if its name is typed."""
    typed = (await fields(request, name=str))["name"]
    return await run_in_threadpool(_delete, request, typed)


def _delete(request: Request, typed: str | None) -> Response:
    with _registry(request) as registry:
        known = _existing(registry, request.path_params["job"])
        found = known.job(request.path_params["job"])
        if typed != found.name:
            raise bad_request(f"the name typed is not {found.name!r}", "type it as it is shown")
        control.delete(known, found, with_checkpoint=False)
    return answer({"deleted": found.name})


def _end_of(log: Path) -> tuple[str, bool]:
    """The last lines of a log, and of the part before it if that is short."""
    parts = []
    room = _MOST_LOG
    for file in (log, before(log)):
        try:
            with file.open("rb") as opened:
                size = os.fstat(opened.fileno()).st_size
                opened.seek(max(0, size - room))
                parts.append(opened.read(room))
        except OSError:
            continue
        room -= len(parts[-1])
        if size > len(parts[-1]):
            text = b"".join(reversed(parts)).decode(errors="replace")
            return text.partition("\n")[2], True
        if room <= 0:
            break
    return b"".join(reversed(parts)).decode(errors="replace"), False


ROUTES = [
    Route("/api/jobs", jobs),
    Route("/api/jobs/events", jobs_events),
    Route("/api/jobs/{job}", job),
    Route("/api/jobs/{job}/events", job_events),
    Route("/api/jobs/{job}/log", job_log),
    Route("/api/jobs/{job}/stop", stop, methods=["POST"]),
    Route("/api/jobs/{job}/resume", resume, methods=["POST"]),
    Route("/api/jobs/{job}/delete", delete, methods=["POST"]),
]
