"""How ``millstream run`` starts a job again: the command that the registry keeps of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from millstream.cli.application import Application

_START = (sys.executable, "-m", "millstream", "run")


@dataclass(frozen=True)
class Launch:
    """The command of a job, without ``--detach``: a program, its settings and other options."""

    target: str
    name: str
    settings: tuple[str, ...]
    options: tuple[str, ...]
    directory: str

    @classmethod
    def of(
        cls, application: Application, name: str, settings: list[str], options: list[str]
    ) -> Launch:
        """That of an application which is run in this directory."""
        return cls(_target(application), name, tuple(settings), tuple(options), os.getcwd())

    @classmethod
    def from_dict(cls, launch: dict[str, Any]) -> Launch:
        """As the registry has it."""
        target, _, name, *rest = launch["command"][len(_START) :]
        settings = []
        while rest[:1] == ["--set"]:
            settings.append(rest[1])
            del rest[:2]
        return cls(target, name, tuple(settings), tuple(rest), launch["directory"])

    def to_dict(self) -> dict[str, Any]:
        """The same for the registry."""
        sets = [part for each in self.settings for part in ("--set", each)]
        command = [*_START, self.target, "--name", self.name, *sets, *self.options]
        return {"command": command, "directory": self.directory}

    def upgraded(self, application: Application, settings: list[str] | None) -> Launch:
        """The same job with another program; its settings stay unless others are given."""
        given = self.settings if settings is None else tuple(settings)
        return replace(self, target=_target(application), settings=given)


def _target(application: Application) -> str:
    file = application.file.absolute()
    return f"{file}:{application.name}" if application.name else str(file)
