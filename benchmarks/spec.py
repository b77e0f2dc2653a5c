"""What a contender runs: written by the parent, read by the child."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Engine = Literal["millstream", "hdfs", "rocksdb"]
ENGINES: tuple[Engine, ...] = ("millstream", "hdfs", "rocksdb")
TITLES: dict[Engine, str] = {
    "millstream": "Millstream",
    "hdfs": "Spark, HDFS store",
    "rocksdb": "Spark, RocksDB store",
}

Program = Literal[
    "windows",
    "process",
    "process_columns",
    "deduplicate",
    "count_windows",
    "interval_join",
    "window_join",
    "temporal_join",
]
"""Count and sum for each key and window; one of ``state_programs``, or one of ``join_programs``."""
JOINS = ("interval_join", "window_join", "temporal_join")

SCHEMA = "key bigint, price bigint, ts timestamp"
DELAY_SECONDS = 5
"""How far the watermark stays behind the newest event, for all contenders."""
COUNTED = 100
"""The rows of a count window."""
INTERVAL_SECONDS = 2
"""How much later the right row of an interval join is, at most."""
FILES = 2
"""How many files make up a micro-batch: one for each core, so that the cores share it evenly."""


@dataclass(frozen=True)
class Spec:
    """A program, and the folder in which a contender runs it."""

    engine: Engine
    folder: str
    window_seconds: int
    slide_seconds: int = 0
    """How often a window starts, where windows overlap."""
    program: Program = "windows"
    join_seconds: int = INTERVAL_SECONDS
    """How much later the right row of an interval join may be."""
    updates: bool = False
    """Every batch emits the new result of each key that it touched, not only the final one."""
    idles: bool = False
    """The program also uses the clock, so that there are batches without data."""
    live: bool = False
    """The program reads records at once; while others have their turns, it is stopped."""
    servers: str = ""
    """Kafka brokers, if input and output are topics; otherwise they are files."""
    delivery: str = "exactly_once"
    """How Millstream writes to Kafka; Spark's sink has only at least once."""

    @property
    def input(self) -> str:
        """Where the batches are put, a folder for each."""
        return f"{self.folder}/input"

    @property
    def output(self) -> str:
        """Where the results are written."""
        return f"{self.folder}/output"

    @property
    def topics(self) -> tuple[str, str]:
        """The topics of input and output."""
        name = Path(self.folder).name
        return f"{name}-in", f"{name}-out"

    @property
    def checkpoint(self) -> str:
        """Where Spark keeps offsets and state."""
        return f"{self.folder}/checkpoint"

    def to_json(self) -> str:
        """The spec as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """The spec from the text of ``to_json``."""
        return cls(**json.loads(text))
