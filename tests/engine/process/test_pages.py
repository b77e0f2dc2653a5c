"""Large lists, dicts and sets of keys are stored in pages: what a step reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

import millstream as ms
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import ShardState
from millstream.plan.names import with_distinct_names
from millstream.reference import paged
from millstream.reference.rows import Row
from millstream.testing import columnar_operator, test_stream
from millstream.testing.columnar_process import ColumnarProcess

LARGE, PAGE = 40, 16


@dataclass
class Kept:
    items: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)


class Keeps(ms.Processor):
    state = Kept
    ttl: Any = None

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        match row["what"]:
            case "append":
                state.items.append(row["n"])
            case "count":
                name = f"{row['n']}"
                state.counts[name] = state.counts.get(name, 0) + 1
            case "mark":
                state.ids.add(row["n"])
            case "fill":
                state.items.extend(range(row["n"]))
                state.counts.update((f"{i}", i) for i in range(row["n"]))
                state.ids.update(range(row["n"]))
            case "shorten":
                del state.items[row["n"] :]
            case "empty":
                state.items, state.ids = [], set()
                state.counts.clear()
            case "fail":
                state.items.append(-1)
                raise ValueError("no")
        out.emit(key=row["key"], items=len(state.items), last=state.items[-1:])


class CountingStore(InMemoryStore):
    """Counts what is read and written."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.written = 0

    def read(self, name: str) -> bytes | None:
        self.calls.append(("read", name))
        return super().read(name)

    def write(self, name: str, blob: bytes) -> None:
        self.calls.append(("write", name))
        self.written += len(blob)
        super().write(name, blob)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "LARGE", LARGE)
    monkeypatch.setattr(paged, "PAGE", PAGE)
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)


class Job:
    """A processor in one shard, whose store can be looked at."""

    def __init__(
        self, processor: type[ms.Processor] = Keeps, store: Any = None, **how: Any
    ) -> None:
        stream = test_stream("key string, what string, n int").key_by("key")
        schema = "key string, items int, last array<bigint>"
        (node,) = with_distinct_names(stream.process(processor, schema=schema, **how).node)
        self.operator = ColumnarProcess(node)  # type: ignore[arg-type]
        self.store = CountingStore() if store is None else store
        self.state = ShardState(self.store)
        self.operator.states = [self.state]

    def step(self, *rows: tuple[str, str, int], now: int = 0) -> list[tuple[int, Any]]:
        given = [
            Row(dict(zip(("key", "what", "n"), row, strict=True)), None, "+", ("o", i))
            for i, row in enumerate(rows)
        ]
        made = self.operator.step({"rows": given}, 0, now)
        return [(row.values["items"], row.values["last"]) for row in made.rows["rows"]]

    @property
    def pages(self) -> list[str]:
        return sorted(name for name in self.store if "." in name)

    @property
    def paged_bytes(self) -> int:
        (clocks,) = self.state.document.operators.values()
        return sum(bucket.paged for bucket in clocks.buckets)


def test_a_list_that_grows_beyond_the_limit_is_stored_in_pages_and_read_again() -> None:
    job = Job()
    assert job.step(("a", "fill", LARGE)) == [(LARGE, [LARGE - 1])]
    assert job.pages == []
    job.step(("a", "append", 7))
    # 41 numbers are in pages of 16: three. The dict and the set are not larger than the limit.
    assert [name.split("/")[-1] for name in job.pages] == ["items.0.0", "items.0.1", "items.0.2"]
    assert job.step(("a", "append", 8)) == [(LARGE + 2, [8])]
    assert job.paged_bytes == sum(len(job.store[name]) for name in job.pages)


def test_a_step_reads_and_writes_the_pages_that_it_touches_and_no_others() -> None:
    job = Job()
    job.step(("a", "fill", 1000), ("b", "fill", 1000))
    job.store.calls.clear()
    job.step(("a", "append", 7))
    job.step(("a", "count", 500))
    job.step(("a", "mark", 500))
    touched = {name.split("/")[-1] for _, name in job.store.calls if "." in name}
    assert sum("items" in name for name in touched) == 1
    assert sum("counts" in name for name in touched) == 1
    assert sum("ids" in name for name in touched) == 1  # read, to see that 500 is there
    written = [name for call, name in job.store.calls if call == "write" and "." in name]
    assert len(written) == 2


@pytest.mark.parametrize(("what", "n"), [("append", 7), ("count", 500), ("mark", -1)])
def test_a_change_writes_about_as_many_bytes_whatever_the_size(
    what: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paged, "LARGE", 4096)
    monkeypatch.setattr(paged, "PAGE", 1024)
    written, stored = [], []
    for size in (10_000, 100_000):
        job = Job()
        job.step(("a", "fill", size))
        stored.append(sum(map(len, job.store.values())))
        job.store.written = 0
        job.step(("a", what, n))
        written.append(job.store.written)
    assert stored[1] > 8 * stored[0]
    assert written[1] < 2 * written[0]
    assert written[1] < stored[1] / 30


def test_pages_go_when_the_list_gets_short_or_the_key_goes() -> None:
    job = Job()
    job.step(("a", "fill", 100), ("b", "fill", 100))
    both = len(job.pages)
    job.step(("a", "shorten", LARGE // 2 + 1))
    assert both - len(job.pages) == 100 // PAGE + 1 - 2  # 21 numbers are in two pages
    job.step(("a", "shorten", LARGE // 2))
    assert both - len(job.pages) == 100 // PAGE + 1
    job.step(("a", "empty", 0), ("b", "empty", 0))
    assert list(job.store) == []


def test_pages_go_with_the_time_to_live_of_their_key() -> None:
    class Expires(Keeps):
        ttl = ms.ttl(10, "processing_time")

    job = Job(Expires)
    job.step(("a", "fill", 100))
    assert job.pages
    job.step(now=10_000_000)
    assert list(job.store) == []


def test_a_row_that_fails_leaves_the_pages_as_they_were() -> None:
    job = Job(on_error="reject")
    job.step(("a", "fill", 100))
    before = dict(job.store)
    job.step(("a", "fail", 0))
    assert {name: job.store[name] for name in job.pages} == {
        name: blob for name, blob in before.items() if "." in name
    }
    assert job.step(("a", "append", 5), ("a", "fail", 0), ("a", "append", 6)) == [
        (101, [5]),
        (102, [6]),
    ]


def test_a_repeated_step_gives_the_same_bytes() -> None:
    stores = []
    for _ in range(2):
        job = Job()
        job.step(("a", "fill", 60), ("b", "fill", 50))
        job.step(("b", "append", 1), ("a", "count", 99), ("c", "fill", 70))
        stores.append(dict(job.store))
    assert stores[0] == stores[1]


class Appends(ms.Processor):
    class state:  # noqa: N801
        items: list[int] = field(default_factory=list)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.items.extend(range(row["n"]))


class AppendsInColumns(Appends):
    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        state = state.with_columns(pl.col("items").list.concat([-1]))
        items = state["items"].gather(rows["_slot"])
        out.emit(rows.with_columns(items=items.list.len(), last=items.list.tail(1)))
        return state


def test_what_on_batch_takes_over_is_in_columns_again() -> None:
    job = Job(Appends)
    job.step(("a", "append", 100), ("b", "append", 3))
    assert len(job.pages) == 7  # 100 numbers, 16 in a page
    again = Job(AppendsInColumns, job.store)
    again.operator.states = [job.state]
    assert again.step(("a", "append", 0)) == [(101, [-1])]
    assert again.pages == []
