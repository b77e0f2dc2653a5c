"""Serves the metrics of jobs to Prometheus, over HTTP."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from millstream.jobs.prometheus import metrics_text
from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.registry import opened_registry
from millstream.model.errors import MillstreamError, RunError

PATH = "/metrics"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""The type of Prometheus' text format."""


def current_metrics() -> str:
    """The metrics of all jobs as text, without making a registry where there is none."""
    if not registry_file().exists():
        return metrics_text([])
    with opened_registry() as registry:
        return metrics_text(registry.jobs())


class MetricsServer(ThreadingHTTPServer):
    """Answers ``GET /metrics`` with what the registry has at that moment.

    Each request opens the registry anew, in a thread of its own.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise RunError(
                "MS236",
                f"metrics cannot be served on {host}:{port}: {error}",
                fix="name a port that is free: --serve PORT; 0 stands for any",
            ) from error

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}{PATH}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, f"the metrics are at {PATH}\n")
            return
        try:
            self._answer(HTTPStatus.OK, current_metrics())
        except MillstreamError as error:  # of the registry: Prometheus asks again
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n")

    def _answer(self, status: HTTPStatus, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", TEXT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: Prometheus asks every few seconds."""
