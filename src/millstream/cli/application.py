"""An application file: a Python file with a pipeline, or with a function that returns one."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from millstream.model.errors import MillstreamError, RunError, did_you_mean
from millstream.model.secrets import with_secrets
from millstream.pipeline import Pipeline

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Application:
    """``app.py``, or ``app.py:name`` for one of its pipelines."""

    file: Path
    name: str | None = None

    @classmethod
    def parse(cls, text: str) -> Application:
        """The application that a text names.

        >>> Application.parse("jobs/scores.py:totals")
        Application(file=PosixPath('jobs/scores.py'), name='totals')
        """
        path, colon, name = text.rpartition(":")
        if not colon or Path(text).is_file():
            return cls(Path(text))
        return cls(Path(path), name)

    def __str__(self) -> str:
        return f"{self.file}:{self.name}" if self.name else str(self.file)

    @property
    def job_name(self) -> str:
        """What its job is called unless it gets another name."""
        return self.name or self.file.stem

    def pipeline(self, settings: Mapping[str, str]) -> Pipeline:
        """The pipeline; MS227 if there is none. Functions get the settings as arguments."""
        found = self._found(self._module())
        if isinstance(found, Pipeline):
            if settings:
                raise self._error(
                    f"{self} is a pipeline, which takes no settings such as {min(settings)!r}",
                    "put it into a function with these arguments that returns the pipeline",
                )
            return found
        arguments = self._arguments(found, settings)
        with _user_errors(self, f"function {found.__name__}() failed"):
            made = found(**arguments)
        if isinstance(made, Pipeline):
            return made
        raise self._error(
            f"function {found.__name__}() of {self.file} returned no pipeline, but {made!r}",
            "return what ends in a sink: return stream.collect('results')",
        )

    def check_file(self) -> None:
        """MS227 if there is no such file."""
        if not self.file.is_file():
            raise self._error(f"there is no file {str(self.file)!r}", "name a Python file")

    def _module(self) -> ModuleType:
        self.check_file()
        name = self.file.stem
        spec = importlib.util.spec_from_file_location(name, self.file.absolute())
        if spec is None or spec.loader is None or name in sys.modules:
            raise self._error(
                f"{self.file} cannot be imported as the module {name!r}",
                "give it a name that ends in .py and is not that of another module",
            )
        module = importlib.util.module_from_spec(spec)
        # As for a script: its folder is where it imports from, here and in Spark's workers.
        sys.path[0:1] = [str(self.file.absolute().parent)]
        sys.modules[name] = module
        with _user_errors(self, "it does not import"):
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return module

    def _found(self, module: ModuleType) -> Pipeline | Callable[..., Any]:
        if self.name is not None:
            named: Any = getattr(module, self.name, None)
            if isinstance(named, Pipeline) or inspect.isfunction(named):
                return named
        known: dict[str, Pipeline | Callable[..., Any]] = {
            name: each for name, each in vars(module).items() if _is_pipeline(each, module)
        }
        if self.name is not None:
            raise self._error(
                f"{self.file} has no pipeline {self.name!r}",
                did_you_mean(self.name, known) if known else _NONE,
            )
        if not known:
            raise self._error(f"{self.file} has no pipeline", _NONE)
        if len(known) > 1:
            choices = " or ".join(f"{self.file}:{name}" for name in known)
            raise self._error(f"{self.file} has {len(known)} pipelines", f"name one: {choices}")
        return next(iter(known.values()))

    def _arguments(self, function: Callable[..., Any], given: Mapping[str, str]) -> dict[str, Any]:
        parameters = inspect.signature(function).parameters
        for name in given:
            if name not in parameters:
                fix = did_you_mean(name, parameters) if parameters else "leave --set out"
                raise self._error(f"function {function.__name__}() has no argument {name!r}", fix)
        missing = [
            name
            for name, each in parameters.items()
            if each.default is each.empty
            and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
            and name not in given
        ]
        if missing:
            sets = " ".join(f"--set {name}=…" for name in missing)
            raise self._error(
                f"function {function.__name__}() of {self.file} needs {', '.join(missing)}",
                f"set them: {sets}",
            )
        types = _types(function)
        return {name: self._value(name, text, types.get(name)) for name, text in given.items()}

    def _value(self, name: str, text: str, type: Any) -> Any:
        """A setting in the type of its argument."""
        if get_origin(type) in (Union, UnionType):
            type = next(each for each in get_args(type) if each is not NoneType)
        value = with_secrets(text)
        try:
            if type is bool:
                return _TRUTH[value.lower()]
            return type(value) if type in (int, float, Path) else value
        except (ValueError, KeyError):
            raise self._error(
                f"--set {name}={text} is no {type.__name__}", "write another value"
            ) from None

    def _error(self, what: str, fix: str) -> RunError:
        return RunError("MS227", what, fix=fix)


_NONE = (
    "add one at the top level of the file: totals = stream.write_files(…); or a function that is "
    "annotated to return one: def totals() -> ms.Pipeline"
)


def _is_pipeline(value: Any, module: ModuleType) -> bool:
    """Whether it is a pipeline, or a function of this module that is annotated to return one."""
    if isinstance(value, Pipeline):
        return True
    own = inspect.isfunction(value) and value.__module__ == module.__name__
    return own and _types(value).get("return") is Pipeline


def _types(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:  # a name that is imported for type checkers alone
        return {}


class _user_errors:  # noqa: N801 - it reads as a statement
    """Turns what a user's program raises into MS227, with the place; errors of Millstream stay."""

    def __init__(self, application: Application, what: str) -> None:
        self._application = application
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, MillstreamError | KeyboardInterrupt):
            return
        file = self._application.file
        lines = [
            f.lineno for f in traceback.extract_tb(trace) if Path(f.filename) == file.absolute()
        ]
        place = f"{file}, line {lines[-1]}" if lines else str(file)
        raise RunError(
            "MS227",
            f"{self._what}: {type(error).__name__}: {error} ({place})",
            fix=f"fix it, and try it without a job: millstream explain {self._application}",
        ) from error
