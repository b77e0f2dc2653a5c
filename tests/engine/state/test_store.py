"""The state of a shard: a document, and blobs under the names of operators."""

from __future__ import annotations

import pytest

from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import ShardState


def test_operators_keep_their_blobs_apart_and_share_a_document():
    store = InMemoryStore()
    state = ShardState(store)
    state.of("one").write("panes", b"1")
    state.of("two").write("panes", b"2")
    state.of("two").clocks.watermark = 7
    assert store == {"one/panes": b"1", "two/panes": b"2"}
    again = ShardState(store, state.document.to_json())
    assert again.of("one").read("panes") == b"1"
    assert again.of("two").clocks.watermark == 7
    again.of("one").remove("panes")
    assert list(store) == ["two/panes"]


def test_a_blob_that_is_gone_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="lost its table one/panes"):
        ShardState(InMemoryStore()).of("one").read("panes")
