"""Looks rows up in a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import polars as pl
import pyarrow as pa

from millstream.engine.python_rows import python_rows
from millstream.engine.rows import from_arrow, hidden_in
from millstream.model.errors import in_step
from millstream.plan.lookup import Find, Lookup, OpenTable
from millstream.spark.worker.lookup_versions import VersionedTable
from millstream.spark.worker.tasks.task import Task

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun

_OPEN: dict[str, OpenTable] = {}
"""Tables that this process has opened, by job and step: a function keeps what it has found."""


@dataclass(kw_only=True)
class LookUp(Task):
    """Adds the columns of the row that has the same key; ``schema`` has the types of these.

    ``versions`` are those of a table that is read again; the driver has read the others.
    """

    node: Lookup
    schema: pa.Schema
    job: str
    versions: VersionedTable | None = None
    _find: Find | None = field(default=None, init=False, repr=False)

    @property
    def _how(self) -> Literal["inner", "left"]:
        return "inner" if self.node.missing == "drop" else "left"

    def begin(self, run: StageRun) -> None:
        """The whole task sees one version."""
        with in_step(self.step):
            if self.versions is not None:
                self._find = self.versions.of_this_task()
                return
            name = f"{self.job}/{self.step}"
            if name not in _OPEN:
                _OPEN[name] = self.node.table.open()
            self._find = _OPEN[name].at(0)

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        """Each key is looked up once; rows keep their order."""
        assert self._find is not None
        names = list(self.node.on)
        keys = rows.select(names).unique(maintain_order=True).drop_nulls()
        asked = [tuple(row.values()) for row in python_rows(keys.to_arrow())]
        with in_step(self.step):
            found = self._find(asked)
        there = [n for n, key in enumerate(asked) if key in found]
        values = [{f.name: found[asked[n]][name] for name, f in self.node.columns} for n in there]
        table = keys[there].hstack(from_arrow(pa.Table.from_pylist(values, self.schema)))
        joined = rows.join(table, on=names, how=self._how, maintain_order="left")
        made = joined.select(*self.node.schema.names, *hidden_in(rows))
        run.counts.add(self.step, "in", rows.height)
        run.counts.add(self.step, "out", made.height)
        self.give(made, run)
