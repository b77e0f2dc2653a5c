"""The console as it is served: in a thread, with events, until its block ends."""

from __future__ import annotations

import json
import socket
import urllib.request

import pytest

from millstream.console.serve import opened_console
from millstream.console.settings import Settings
from millstream.model.errors import RunError


def test_it_is_there_within_the_block_and_gone_after_it(tmp_path):
    with opened_console(Settings(port=0, data=tmp_path)) as address:
        with urllib.request.urlopen(f"{address}/") as page:
            assert b"Millstream" in page.read()
        with urllib.request.urlopen(f"{address}/api/jobs/events") as events:
            line = events.readline().decode()
            assert events.headers["content-type"].startswith("text/event-stream")
        assert json.loads(line.removeprefix("data: "))["jobs"] == []
        place = address.removeprefix("http://").split(":")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((place[0], int(place[1])), timeout=5)


def test_a_port_in_use_is_an_error_with_a_way_out(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(RunError, match="MS331.*cannot listen at 127.0.0.1"),
            opened_console(Settings(port=port, data=tmp_path)),
        ):
            pass


def test_an_address_of_another_machine_is_an_error(tmp_path):
    pem = tmp_path / "file.pem"
    pem.write_text("PEM")
    settings = Settings("192.0.2.1", 0, "t" * 32, pem, pem, data=tmp_path)
    with pytest.raises(RunError, match="MS331"), opened_console(settings):
        pass
