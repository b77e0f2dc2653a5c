"""Why local brokers cannot start, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from millstream.model.errors import KafkaError, PlanError

_LINES_SHOWN = 8


def port_taken(port: int | None, ours: Path | None = None) -> KafkaError:
    """Another process listens where a broker should, maybe a broker of another data directory."""
    which = f"port {port}" if port else "a port of the broker"
    if ours is not None:
        return KafkaError(
            "MS304",
            f"{which} is taken by the local brokers in {ours}",
            fix="use those, which are found from any folder; or start others beside them: "
            "millstream kafka up --port 0",
        )
    return KafkaError(
        "MS304",
        f"{which} is taken by another process on this machine",
        fix="take any free ones: millstream kafka up --port 0, or end that process",
    )


def port_reserved(port: int) -> PlanError:
    """The system keeps low ports for its administrator."""
    return PlanError(
        "MS113",
        f"port={port} is out of range: the system does not let you listen there",
        fix="write one from 1024 on, or take any free ones: millstream kafka up --port 0",
    )


def no_room(folder: Path) -> KafkaError:
    """The disk is full, or so nearly that a broker would soon fail."""
    return KafkaError(
        "MS307",
        f"there is not enough room on the disk of {folder}",
        fix="make room (a broker needs 200 MB to begin with), or keep the data elsewhere: --data",
    )


def not_started(broker: int, folder: Path, why: str, said: str) -> KafkaError:
    """What the last words of a broker tell that ended by itself, or does not answer."""
    if "No space left on device" in said:
        return no_room(folder)
    if "Address already in use" in said:
        return port_taken(None)
    # Where in Kafka's code it happened is in the log, for who wants to know.
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("\tat ")]
    last = "".join(f"\n  | {line}" for line in lines[-_LINES_SHOWN:])
    return KafkaError(
        "MS306",
        f"broker {broker} did not start: {why}. Its last words:{last}",
        fix=f"mend what they tell of; more is in {folder}. "
        "Where its data is damaged and not needed: millstream kafka down --wipe",
    )
