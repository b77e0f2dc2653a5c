"""Why local brokers cannot start, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from millstream.model.errors import KafkaError, PlanError
from millstream.system.data_directory import data_directory

_LINES_SHOWN = 8


def port_taken(port: int | None, ours: Path | None = None) -> KafkaError:
    """Another process listens where a broker should, maybe a broker of another data directory."""
    which = f"port {port}" if port else "a port of the broker"
    if ours is not None:
        return KafkaError(
            "MS304",
            f"{which} is taken by the local brokers in {ours}",
            fix="use those, which are found from any folder; or start others on free ports: "
            "millstream kafka up --port 0",
        )
    return KafkaError(
        "MS304",
        f"{which} is taken by another process on this machine",
        fix="use any free port: millstream kafka up --port 0, or end that process",
    )


def port_reserved(port: int) -> PlanError:
    """The system reserves low ports for its administrator."""
    return PlanError(
        "MS113",
        f"port={port} is out of range: only the administrator may listen there",
        fix="write one from 1024 on, or use any free port: millstream kafka up --port 0",
    )


def disk_full(folder: Path) -> KafkaError:
    """The disk is full, or nearly full, so that a broker would soon fail."""
    return KafkaError(
        "MS307",
        f"there is not enough space on the disk of {folder}",
        fix="make room (a broker needs 200 MB to start), or keep the data elsewhere: --data",
    )


def not_started(broker: int, folder: Path, why: str, output: str) -> KafkaError:
    """A broker ended by itself or does not answer; its output contains the cause."""
    if "No space left on device" in output:
        return disk_full(folder)
    if "Address already in use" in output:
        return port_taken(None)
    # The stack is in the log.
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("\tat ")]
    last = "".join(f"\n  | {line}" for line in lines[-_LINES_SHOWN:])
    return KafkaError(
        "MS306",
        f"broker {broker} did not start: {why}. Its last output:{last}",
        fix=f"fix what it reports; its logs are in {folder}. "
        f"If its data is damaged and not needed: {down_command(folder.parent)} --wipe",
    )


def down_command(folder: Path) -> str:
    """What stops the brokers of a folder, wherever the user is.

    >>> down_command(Path("/srv/scores/kafka"))
    'millstream kafka down --data /srv/scores'
    """
    data = folder.parent
    named = "" if data.absolute() == data_directory() else f" --data {quote(str(data))}"
    return f"millstream kafka down{named}"
