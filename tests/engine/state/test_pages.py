"""Pages are read and written by name, and a bucket knows how many bytes its pages have."""

from __future__ import annotations

import polars as pl

from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.pages import StoredPages
from millstream.engine.state.store import ShardState


def test_pages_are_written_read_and_removed_and_their_bytes_counted() -> None:
    store = InMemoryStore()
    pages = StoredPages(ShardState(store).of("step"))
    table, longer = pl.DataFrame({"item": [1, 2]}), pl.DataFrame({"item": list(range(9999))})
    grown = pages.write({((3,), "items.0.0"): table})
    assert grown == {(3,): len(store["step/3/items.0.0"])}
    assert pages.read((3,), "items.0.0").equals(table)
    size = grown[3,]
    grown = pages.write({((3,), "items.0.0"): longer, ((4,), "items.0.0"): table})
    assert grown == {(3,): len(store["step/3/items.0.0"]) - size, (4,): size}
    grown = pages.write({((3,), "items.0.0"): None})
    assert list(store) == ["step/4/items.0.0"]
    assert grown[3,] < -size
