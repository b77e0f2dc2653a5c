"""The file of the registry: SQLite in the data directory, with the version of its tables in it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.model.errors import RunError
from millstream.system.data_directory import data_directory, make_data_directory

_SCRIPTS = (
    """
    CREATE TABLE job (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        owner TEXT NOT NULL,
        program TEXT NOT NULL,
        checkpoint TEXT NOT NULL,
        created REAL NOT NULL,
        plan TEXT,
        launch TEXT,
        supervisor TEXT
    );
    CREATE INDEX job_by_name ON job (name);
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        job TEXT NOT NULL REFERENCES job ON DELETE CASCADE,
        number INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        code TEXT,
        user TEXT NOT NULL,
        process TEXT NOT NULL,
        started REAL NOT NULL,
        beat REAL NOT NULL,
        ended REAL,
        stop INTEGER NOT NULL DEFAULT 0,
        progress TEXT
    );
    CREATE INDEX run_by_job ON run (job, number);
    CREATE TABLE batch (
        run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
        batch INTEGER NOT NULL,
        span INTEGER NOT NULL,
        ended REAL NOT NULL,
        report TEXT NOT NULL,
        PRIMARY KEY (run, batch)
    );
    CREATE INDEX batch_by_time ON batch (span, ended);
    """,
    """
    CREATE TABLE sample (
        run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
        batch INTEGER NOT NULL,
        ended REAL NOT NULL,
        samples TEXT NOT NULL,
        PRIMARY KEY (run, batch)
    );
    CREATE INDEX sample_by_time ON sample (ended);
    """,
)
"""What makes each version of the tables of the one before it; the first, of an empty file."""

VERSION = len(_SCRIPTS)


def registry_file(data: str | os.PathLike[str] | None = None) -> Path:
    """Where the registry of a data directory is."""
    return data_directory(data) / "jobs" / "registry.db"


def connect(file: Path, patience: float) -> sqlite3.Connection:
    """A connection to the registry, made or migrated if it has to be.

    ``patience`` is how many seconds it waits for other processes that write.
    """
    with registry_errors(file):
        make_data_directory(file.parent.parent)
        file.parent.mkdir(exist_ok=True, mode=0o700)
        database = sqlite3.connect(file, timeout=patience, isolation_level=None)
        try:
            os.chmod(file, 0o600)  # programs may have secrets in their arguments
            database.row_factory = sqlite3.Row
            _migrate(database, file)
            # A commit that a power failure loses was only about one more batch.
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA foreign_keys = ON")
            database.execute(f"PRAGMA journal_size_limit = {4 << 20}")
        except BaseException:
            database.close()
            raise
        return database


def _migrate(database: sqlite3.Connection, file: Path) -> None:
    version = _version(database)
    if version == VERSION:
        return
    if version > VERSION:
        raise RunError(
            "MS225",
            f"the registry of jobs {str(file)!r} has version {version}, of a newer Millstream; "
            f"this one reads versions up to {VERSION}",
            fix="use the newer Millstream, or start a new registry: move the file away (jobs and "
            "checkpoints are not affected), or name another data directory in MILLSTREAM_DATA",
        )
    database.execute("PRAGMA journal_mode = WAL")
    with transaction(database):
        for script in _SCRIPTS[_version(database) :]:  # another process may have been faster
            for statement in filter(str.strip, script.split(";")):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Makes all changes of the block, or none of them; within another one, it is part of that."""
    if database.in_transaction:
        yield
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


@contextmanager
def registry_errors(
    file: Path, kinds: tuple[type[Exception], ...] = (sqlite3.Error, OSError)
) -> Iterator[None]:
    """Turns errors of SQLite and of the file system into MS225."""
    try:
        yield
    except kinds as error:
        raise RunError(
            "MS225",
            f"the registry of jobs {str(file)!r} cannot be used: {error}",
            fix=f"{_way_out(error)}. Jobs and checkpoints are not affected",
        ) from error


def _way_out(error: Exception) -> str:
    if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
        return "move the file away to start a new registry"
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return "another process writes it for longer than usual: try again, or end that process"
    return (
        "let this user write there, free some space, or name another data directory in "
        "MILLSTREAM_DATA"
    )
