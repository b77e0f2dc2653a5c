"""Metrics are served as they are at the moment of each request."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from millstream.jobs.metrics_server import TEXT, MetricsServer
from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.registry import opened_registry
from millstream.system.data_directory import DATA


@pytest.fixture
def url(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    with MetricsServer("127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def test_each_request_has_the_jobs_of_that_moment(url):
    with urlopen(url) as answer:
        assert answer.headers["Content-Type"] == TEXT
        assert b"job_name" not in answer.read()
    assert not registry_file().exists()
    with opened_registry() as registry:
        job = registry.register("totals", "totals.py", "/checkpoints/totals")
        registry.fail_run(registry.begin_run(job), "MS201: no number")
    with urlopen(url) as answer:
        lines = answer.read().decode().splitlines()
    assert f'millstream_job_up{{job_name="totals",job_id="{job}"}} 0' in lines


def test_other_pages_and_a_registry_that_cannot_be_read_are_errors(url):
    with pytest.raises(HTTPError, match="404"):
        urlopen(url.replace("metrics", "jobs"))
    registry_file().parent.mkdir(parents=True)
    registry_file().write_text("no database at all, but some text\n" * 100)
    with pytest.raises(HTTPError, match="503") as caught:
        urlopen(url)
    assert b"MS225" in caught.value.read()


def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "millstream", "jobs", "metrics", "--serve", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        served = re.fullmatch(r"serving (http://\S+)\n", process.stdout.readline())
        assert served
        with urlopen(served[1]) as answer:
            assert b"# TYPE millstream_job_up gauge" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
