"""The application that serves the console: its pages, its routes, and the guard around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from millstream.console import group_routes, job_routes, topic_routes
from millstream.console.answers import answer, on_error, refused
from millstream.console.cluster import Cluster
from millstream.console.guard import Guard, login
from millstream.console.settings import Settings
from millstream.model.error_pages import error_page, known_code
from millstream.model.errors import MillstreamError

STATIC = Path(__file__).with_name("static")
_PAGES = ("/", "/jobs/{job}", "/topics", "/topics/{topic}", "/groups/{group}", "/errors/{code}")


def console_app(settings: Settings, cluster: Cluster | None = None) -> Guard:
    """The console as an ASGI application; without a cluster, it finds one as commands do."""
    app = Starlette(
        routes=[
            *(Route(path, _page) for path in _PAGES),
            Route("/login", _page, methods=["GET"]),
            Route("/login", login, methods=["POST"]),
            Route("/api/session", _session),
            Route("/api/errors/{code}", _error),
            *job_routes.ROUTES,
            *topic_routes.ROUTES,
            *group_routes.ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={MillstreamError: on_error, HTTPException: _http_error},
    )
    guard = Guard(app, settings)
    app.state.settings, app.state.guard = settings, guard
    app.state.cluster = cluster or Cluster()
    app.state.streams, app.state.closing = 0, False
    return guard


def _page(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html")


def _session(request: Request) -> Response:
    """What a page needs to know before it can ask for changes."""
    settings: Settings = request.app.state.settings
    return answer({"csrf": settings.csrf, "read_only": settings.read_only})


def _error(request: Request) -> Response:
    """The page of an error code."""
    code = known_code(request.path_params["code"])
    if code is None:
        raise HTTPException(404)
    return answer({"code": code, "page": error_page(code)})


def _http_error(request: Request, error: Any) -> Response:
    where = request.url.path
    return refused(error.status_code, f"{where[:200]!r} is not found here", "go back to the jobs")
