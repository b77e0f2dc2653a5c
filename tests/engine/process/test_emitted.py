"""Rows that callbacks emit become columns, and the first that does not fit is named."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.engine.process.emitted import EmittedColumns
from millstream.model.errors import RunError
from millstream.reference.callbacks import Outputs, TaggedOutput
from millstream.testing import test_stream


class Nothing(ms.Processor):
    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass


def output(schema: str) -> tuple[TaggedOutput, EmittedColumns]:
    stream = test_stream("key string").key_by("key").process(Nothing, schema=schema)
    what = stream.node.processing  # type: ignore[attr-defined]
    return Outputs(what, checks_later=True).rows, EmittedColumns(what.outputs["rows"])


def test_rows_become_typed_columns() -> None:
    out, columns = output("name string, n int, x double, ok boolean, tags array<string>")
    out.emit(name="a", n=1, x=1.5, ok=True, tags=["t"])
    out.emit({"name": None, "n": None, "x": 2, "ok": None, "tags": ()})
    assert columns.table(out).rows() == [("a", 1, 1.5, True, ["t"]), (None, None, 2.0, None, [])]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ({"name": "a", "n": 2**31}, "has 2147483648 in column 'n', which does not fit INT"),
        ({"name": "a", "n": True}, "has True in column 'n', which does not fit INT"),
        ({"name": 1, "n": 1}, "has 1 in column 'name', which does not fit STRING"),
        ({"name": "\ud800", "n": 1}, "half of a surrogate pair"),
        ({"name": "a"}, "has no column 'n'"),
        ({"name": "a", "n": 1, "m": 2}, "has a column 'm' too many"),
    ],
)
def test_a_row_that_does_not_fit_is_named(row: dict[str, Any], wrong: str) -> None:
    out, columns = output("name string, n int")
    out.emit(name="b", n=1)
    out.emit(**row)
    with pytest.raises(RunError, match=f"MS202.*a row that Nothing emits.*{wrong}"):
        columns.table(out)
