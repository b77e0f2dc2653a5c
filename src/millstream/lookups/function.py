"""A table behind a function of the user: a database or a service that is asked for some keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from millstream.model.durations import format_duration
from millstream.model.errors import RunError
from millstream.plan.build.functions import function_name
from millstream.plan.lookup import Find, LookupKey
from millstream.plan.records import shown
from millstream.plan.types.rows import row_of
from millstream.plan.types.schema import Schema

MOST_CACHED = 100_000
"""How many keys a worker remembers the rows of."""


@dataclass(frozen=True)
class FunctionTable:
    """``function`` gets a list of keys and returns rows by key, without those that are missing."""

    function: Callable[[list[Any]], Mapping[Any, Any]]
    schema: Schema
    cache: int
    timeout: int
    changes = True

    def __str__(self) -> str:
        kept = f", kept for {format_duration(self.cache)}" if self.cache else ""
        return f"{function_name(self.function)}(keys){kept}"

    def open(self) -> OpenFunction:
        """With an empty cache."""
        return OpenFunction(self)


class OpenFunction:
    """What the function has returned so far, in this process. Missing keys are remembered, too."""

    def __init__(self, table: FunctionTable) -> None:
        self._table = table
        self._known: dict[LookupKey, tuple[float, dict[str, Any] | None]] = {}

    def at(self, now: int) -> Find:
        """The function, whatever the time of the batch is."""
        return self.find

    def find(self, keys: list[LookupKey]) -> dict[LookupKey, dict[str, Any]]:
        """The rows of these keys; the function is called for those that are not in the cache."""
        now, table = time.monotonic(), self._table
        fresh = {
            key: row
            for key in keys
            for at, row in [self._known.get(key, (float("-inf"), None))]
            if now - at < table.cache / 1_000_000
        }
        asked = [key for key in keys if key not in fresh]
        if asked:
            found = self._called(asked)
            fresh |= {key: found.get(key) for key in asked}
            if table.cache:
                self._known |= {key: (now, fresh[key]) for key in asked}
                for key in list(self._known)[: max(0, len(self._known) - MOST_CACHED)]:
                    del self._known[key]
        return {key: row for key, row in fresh.items() if row is not None}

    def _called(self, keys: list[LookupKey]) -> dict[LookupKey, dict[str, Any]]:
        table, name = self._table, function_name(self._table.function)
        given = [key[0] if len(key) == 1 else key for key in keys]
        pool = ThreadPoolExecutor(1)
        answer = pool.submit(table.function, given)
        try:
            made = answer.result(table.timeout / 1_000_000)
        except Exception as error:  # whatever a user's function raises, also a TimeoutError
            if not answer.done():
                raise RunError(
                    "MS231",
                    f"{name} had not answered after {format_duration(table.timeout)}",
                    fix="make it faster, ask for fewer keys at a time, or allow more: timeout='1m'",
                ) from None
            raise RunError(
                "MS231",
                f"{name} failed for {len(keys)} keys, the first of which is {shown(given[0])}: "
                f"{type(error).__name__}: {error}",
                fix="fix it, or let it return what it has: keys that it leaves out are missing",
            ) from error
        finally:
            pool.shutdown(wait=False)
        if not isinstance(made, Mapping):
            raise RunError(
                "MS231",
                f"{name} returned {shown(made)}, not rows by key",
                fix="return a dict: {key: row}",
            )
        rows = [(key, made.get(one)) for key, one in zip(keys, given, strict=True)]
        what = f"a row of {name}"
        return {k: row_of(row, table.schema, what=what) for k, row in rows if row is not None}
