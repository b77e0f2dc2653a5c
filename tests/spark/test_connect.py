"""Jobs over Spark Connect, on a server that is a process of its own, as are the programs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import connect_program
import connect_server
import topics
from families import Family
from millstream.kafka.admin.topics import delete_records
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import Position
from millstream.kafka.local.cluster import Cluster
from ports import free_port
from waiting import until

A_WHILE = 240.0  # seconds; a quarter is enough where nothing else runs


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    log = folder / "server.log"
    script = Path(connect_server.__file__)
    with Family(script, port, log=log, scratch=folder / "scratch") as server:
        until(lambda: "ready" in server.printed() or server.process.poll() is not None)
        assert server.process.poll() is None, server.printed()
        yield f"sc://127.0.0.1:{port}"


def started(url: str, folder: Path, what: str, *of_kafka: str) -> Family:
    log = folder / "program.log"
    script = Path(connect_program.__file__)
    return Family(script, url, folder, what, *of_kafka, log=log, scratch=folder / "scratch")


def found(program: Family) -> dict[str, Any]:
    with program:
        assert program.ended(A_WHILE) == 0, program.printed()
    report: dict[str, Any] = json.loads(program.printed().splitlines()[-1])
    return report


def ran(url: str, folder: Path, what: str, *of_kafka: str) -> dict[str, Any]:
    """What a program has found; one that could not even start is started again.

    Spark gives a worker ten seconds to start in, whatever else the machine does then.
    """
    for _ in range(3):
        program = started(url, folder, what, *of_kafka)
        with program:
            code = program.ended(A_WHILE)
        if code == 0 or "Python worker failed to connect back" not in program.printed():
            break
    return found(program)


def put(folder: Path, files: int) -> None:
    (folder / "in").mkdir()
    for file in range(files):
        lines = map(json.dumps, connect_program.rows_of(file))
        path = folder / "in" / f"{file:03}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (file + 1, file + 1))  # Spark takes the oldest first


def totals_of(files: int) -> list[tuple[str, int, int]]:
    """The totals of each file but the last, whose window has not ended."""
    found = []
    for file in range(files - 1):
        timed = [row for row in connect_program.rows_of(file) if row["at"] is not None]
        for team in ("blue", "red"):
            points = [row["points"] for row in timed if row["team"] == team]
            found.append((team, len(points), sum(points)))
    return sorted(found)


def written(folder: Path) -> list[tuple[str, int, int]]:
    lines = [line for f in folder.glob("out/part-*") for line in f.read_text().splitlines()]
    return sorted((row["team"], row["n"], row["total"]) for row in map(json.loads, lines))


def test_a_program_means_the_same(url: str, tmp_path: Path) -> None:
    put(tmp_path, files=3)
    report = ran(url, tmp_path, "everything")
    assert report["unset"].startswith("MS206: the Spark session is not set up for this job")
    assert report["batch"] == report["reference"]
    assert report["frame"] == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert "MS201 in step 'map-1'" in report["failure"]
    assert report["late failure"] == report["failure"]
    assert written(tmp_path) == [tuple(row) for row in report["kept"]] == totals_of(3)
    assert report["counts"] == {"rows": 33, "batches": 3}
    assert (report["bad"], report["state"]) == (3, "stopped")


def test_a_program_that_is_killed_and_resumed_writes_each_row_once(
    url: str, tmp_path: Path
) -> None:
    put(tmp_path, files=12)
    with started(url, tmp_path, "resumed") as program:
        until(lambda: written(tmp_path) or program.process.poll() is not None)
        assert program.process.poll() is None, program.printed()
    assert Counter(written(tmp_path)) < Counter(totals_of(12))
    # The server still continues with it, until the same job is started again.
    assert ran(url, tmp_path, "resumed")["batches"] >= 1
    assert written(tmp_path) == totals_of(12)


def test_from_topic_to_topic_each_record_is_written_once_and_what_is_gone_is_counted(
    url: str, broker: Cluster, tmp_path: Path
) -> None:
    servers = broker.servers
    source, target = topics.new_topic(servers), topics.new_topic(servers)
    program = "from topic to topic", servers, source, target
    topics.put(servers, source, [{"n": n} for n in range(5)])
    assert ran(url, tmp_path, *program, "") == {"rows": 5, "lost": 0}
    topics.put(servers, source, [{"n": n} for n in range(5, 9)])
    delete_records(Connection(servers), source, Position("offset", 7))
    found = ran(url, tmp_path, *program, "created again")
    assert f"topic {source!r} was deleted and created again" in found.pop("failure")
    assert found == {"rows": 2, "lost": 2}
    assert [each.json["n"] for each in topics.read(servers, target)] == [0, 1, 2, 3, 4, 7, 8]
