"""The file of the registry: who may read it, and of what version it is."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from millstream.jobs.registry.database import VERSION, connect, registry_file
from millstream.jobs.registry.registry import Registry
from millstream.model.errors import RunError


def test_it_is_for_its_user_alone_and_version_control_ignores_it(registry, data):
    assert registry.file == data / "jobs" / "registry.db"
    assert registry.file.stat().st_mode & 0o777 == 0o600
    assert (data / ".gitignore").read_text() == "*\n"


def test_many_that_open_a_new_one_at_once_find_the_same_tables(data):
    with ThreadPoolExecutor(8) as threads:
        registries = list(threads.map(lambda _: connect(registry_file(), 10.0).close(), range(16)))
    assert len(registries) == 16
    registry = Registry(registry_file())
    assert registry.jobs() == []
    registry.close()


def test_a_registry_of_a_newer_version_is_refused_with_a_way_out(registry):
    registry.database.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(RunError, match=rf"MS225.*version {VERSION + 1}, of a newer") as caught:
        Registry(registry.file)
    assert "move the file away" in caught.value.fix
    registry.file.rename(registry.file.with_suffix(".old"))
    Registry(registry.file).close()


def test_a_file_without_tables_becomes_the_current_version(data):
    registry_file().parent.mkdir(parents=True)
    sqlite3.connect(registry_file()).close()
    registry = Registry(registry_file())
    assert registry.jobs() == []
    registry.close()


def test_a_registry_of_the_first_version_is_migrated_with_its_jobs(registry, data):
    job = registry.register("totals", "totals.py", "/checkpoints/totals")
    run = registry.begin_run(job)
    registry.database.execute("DROP TABLE sample")  # which the second version has added
    registry.database.execute("PRAGMA user_version = 1")
    migrated = Registry(registry.file)
    assert [each.name for each in migrated.jobs()] == ["totals"]
    assert [each.id for each in migrated.runs(job)] == [run]
    assert migrated.samples(job) == []
    migrated.close()


def test_a_file_that_is_no_registry_is_refused_and_left_alone(data):
    registry_file().parent.mkdir(parents=True)
    registry_file().write_text("these are the notes of somebody, and no database\n" * 100)
    with pytest.raises(RunError, match="MS225.*not a database") as caught:
        Registry(registry_file())
    assert "move the file away" in caught.value.fix
    assert registry_file().read_text().startswith("these are the notes")
