"""The jars that are pinned: those of Kafka's brokers, and of Spark's connector for benchmarks.

``jars.toml`` lists them, each with its SHA-256.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

JarKind = Literal["broker", "connector"]
"""Jars that a broker needs, or Spark to read from and write to Kafka."""


@dataclass(frozen=True)
class Jar:
    """A jar by its Maven coordinates, and the SHA-256 that it must have."""

    organisation: str
    module: str
    revision: str
    sha256: str

    @property
    def file(self) -> str:
        """Its file name, which no other pinned jar has."""
        return f"{self.module}-{self.revision}.jar"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.module}:{self.revision}"


def pinned(kind: JarKind) -> list[Jar]:
    r"""The jars of a kind.

    >>> print(*pinned("connector"), sep="\n")
    org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0
    org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0
    org.apache.kafka:kafka-clients:3.9.2
    org.apache.commons:commons-pool2:2.13.1
    """
    pins = tomllib.loads(files(__package__).joinpath("jars.toml").read_text(encoding="utf-8"))
    return [_jar(name, sha256) for name, sha256 in pins[kind].items()]


def _jar(name: str, sha256: str) -> Jar:
    organisation, module, revision = name.split(":")
    return Jar(organisation, module, revision, sha256)
