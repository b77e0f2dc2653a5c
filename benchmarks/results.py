"""The result of a measurement: a line of the table, and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.contender import Contender
from benchmarks.spec import Engine


@dataclass(frozen=True)
class Target:
    """The target of a measurement: at least, or at most, a value."""

    value: float
    at_least: bool = False
    unit: str = "x"

    def reached(self, value: float) -> bool:
        """Whether a value is good enough."""
        return value >= self.value if self.at_least else value <= self.value

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.shown(self.value)}"

    def shown(self, value: float) -> str:
        """A value as the table shows it."""
        return f"{value:.2f}{self.unit if self.unit == 'x' else f' {self.unit}'}"


@dataclass(frozen=True)
class Result:
    """A line of the table. ``value`` is compared with the target."""

    name: str
    title: str
    cells: dict[Engine, str]
    value: float
    target: Target
    figures: dict[str, Any]

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.target.reached(self.value)

    def to_json(self) -> dict[str, Any]:
        """The result, for a file."""
        return {
            "name": self.name,
            "title": self.title,
            "cells": self.cells,
            "value": self.value,
            "target": str(self.target),
            "reached": self.reached,
            **self.figures,
        }


def phases(contender: Contender, first: int) -> dict[str, float]:
    """What Spark spent a batch with data on, in seconds: medians, from the batch ``first`` on."""
    data = [each["durationMs"] for each in contender.progress if each["numInputRows"]][first:]
    names = sorted({name for each in data for name in each})
    return {name: median(each.get(name, 0) for each in data) / 1000 for name in names}


def rates(rows: int, seconds: dict[Engine, float]) -> dict[Engine, str]:
    """Cells of the table: rows a second, and seconds for a batch of so many."""
    return {e: f"{rows / s / 1e6:.2f} M rows/s\n{s:.2f} s" for e, s in seconds.items()}
