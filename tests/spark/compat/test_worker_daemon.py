"""The daemon that forks Python workers imports first, and its workers end quietly."""

from __future__ import annotations

import sys

import pytest
from pyspark import daemon

from millstream.spark.compat import worker_daemon


@pytest.fixture
def serve(monkeypatch):
    """A worker's life under the daemon, whatever happens in it."""

    def serve(life):
        lives = []
        monkeypatch.setattr(daemon, "worker", life)
        monkeypatch.setattr(daemon, "manager", lambda: lives.append(daemon.worker("sock", True)))
        worker_daemon.serve()
        return lives

    return serve


def test_a_worker_whose_connection_spark_has_closed_ends_without_a_traceback(serve):
    for error in (BrokenPipeError, ConnectionResetError):

        def closed(sock, authenticated, error=error):
            raise error

        assert serve(closed) == [1]


def test_any_other_worker_ends_as_it_does(serve):
    assert serve(lambda sock, authenticated: 7) == [7]

    def fails(sock, authenticated):
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        serve(fails)


def test_what_each_worker_would_import_is_there_before_the_fork():
    worker_daemon.import_early()
    assert {"pandas", "pyspark.worker"} <= sys.modules.keys()
