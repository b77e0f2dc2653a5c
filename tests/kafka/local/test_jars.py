"""Jars are fetched once, checked, and shared between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.kafka.local.jar import pinned
from millstream.kafka.local.jars import cache_directory, jars
from millstream.model.errors import KafkaError
from millstream.system.locking import locked
from ports import free_port

FETCH = "from millstream.kafka.local.jars import jars; print(len(jars('connector', print)))"


def cached() -> set[str]:
    return {file.name for file in cache_directory(os.environ).glob("*")}


def test_cached_jars_need_neither_network_nor_java(connector, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    assert jars("connector") == connector
    assert [file.name for file in connector] == [jar.file for jar in pinned("connector")]


def test_the_cache_is_in_the_directory_of_xdg():
    assert cache_directory({}) == Path.home() / ".cache" / "millstream" / "jars"
    assert cache_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/millstream/jars")


def test_jars_that_are_not_cached_are_fetched(repository):
    said = []
    fetched = jars("connector", said.append)
    assert cached() == {jar.file for jar in pinned("connector")} | {"lock"}
    assert all(file.is_file() for file in fetched)
    assert said[-1] == "fetching jars: 4 of 4"


def test_only_what_is_missing_is_fetched(repository):
    first, *_ = jars("connector")
    inode = first.stat().st_ino
    jars("connector")[1].unlink()
    said = []
    jars("connector", said.append)
    assert said[-1] == "fetching jars: 1 of 1"
    assert first.stat().st_ino == inode


def test_a_repository_with_another_file_is_an_error_and_nothing_is_cached(repository):
    changed = repository / pinned("connector")[3].file
    changed.unlink()
    changed.write_bytes(b"something else")
    with pytest.raises(KafkaError, match="MS303: .* is not org.apache.commons:commons-pool2:"):
        jars("connector")
    assert cached() == {"lock"}


def test_a_damaged_jar_in_the_cache_is_an_error_that_names_the_file(repository):
    damaged = jars("connector")[2]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(KafkaError, match="MS303: ") as caught:
        jars("connector")
    assert str(damaged) in caught.value.what
    assert "delete the file" in caught.value.fix


def test_a_jar_that_is_not_found_is_an_error_that_names_it(repository):
    (repository / pinned("connector")[1].file).unlink()
    with pytest.raises(KafkaError, match="MS303: .*spark-token-provider.* could not be fetched"):
        jars("connector")


def test_without_a_network_the_error_names_the_cause(tmp_path, monkeypatch, connector):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    proxy = f"-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={free_port()}"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", proxy)
    with pytest.raises(KafkaError, match="and 3 more could not be fetched") as caught:
        jars("connector")
    assert "Connection refused" in caught.value.what
    assert "network" in caught.value.fix


def test_a_cache_without_room_is_an_error_that_names_it(repository, small_disk, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(small_disk))
    for full in (False, True):  # first for Ivy, then for us
        if full:
            (small_disk / "all").write_bytes(bytes(os.statvfs(small_disk).f_bavail * 4096))
        with pytest.raises(KafkaError, match="MS303: jars cannot be kept in .*No space") as caught:
            jars("connector")
        assert str(small_disk) in caught.value.what
        assert "make room" in caught.value.fix


def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(repository):
    cache = cache_directory(os.environ)
    cache.parent.parent.mkdir()
    cache.parent.touch()  # a file, where a folder should be
    with pytest.raises(KafkaError, match="MS303: jars cannot be kept in .*/jars") as caught:
        jars("connector")
    assert "XDG_CACHE_HOME" in caught.value.fix


def test_of_two_processes_that_need_the_same_jars_one_fetches_them(repository):
    cache = cache_directory(os.environ)
    cache.mkdir(parents=True)
    with locked(cache / "lock", pytest.fail):
        fetching = [
            subprocess.Popen([sys.executable, "-u", "-c", FETCH], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        waiting = [process.stdout.readline() for process in fetching]
    assert waiting == ["waiting for another process that fetches jars\n"] * 2
    said = sorted((process.communicate()[0].splitlines() for process in fetching), key=len)
    assert said[0] == ["4"]
    assert said[1][-2:] == ["fetching jars: 4 of 4", "4"]
