"""State that is redistributed over other shards is that of the same keys.

That groupings emit the same however often they are rescaled, the agreement of columns tests.
"""

from __future__ import annotations

import polars as pl
import pytest

from millstream.engine.exchange.hashing import hashed
from millstream.engine.operator import BUCKETS
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Bucket, Clocks, Document, Lane, Part, Shared
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.resharding import (
    DifferentClocksError,
    common_clocks,
    cut_shard,
    with_new_shards,
)
from millstream.engine.watermarks import Channel, Channels
from millstream.model.script import Elements, Watermark
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Stateful, walk
from millstream.plan.operators.process import Process
from millstream.reference import paged
from millstream.reference.interpreter import Interpreter
from millstream.testing import columnar_operator
from millstream.testing.columnar_process import ColumnarProcess
from millstream.testing.engines import operators_of
from random_processors import RandomPrograms
from shards import rescaled


class RescaledProcess(ColumnarProcess):
    """Other shards after each step."""

    def step(self, rows, watermark, now):
        made = super().step(rows, watermark, now)
        shards = len(self.states) % 5 + 1
        documents = [state.document for state in self.states]
        self.states = rescaled(documents, self.stores, shards)
        self.stores = [state.blobs for state in self.states]
        columnar_operator.SHARDS = shards
        return made


def emitted(node, steps, rescales, monkeypatch):
    """What a processor emits for each key, step by step."""
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)
    kind = RescaledProcess if rescales else ColumnarProcess
    interpreter = Interpreter(node, operators={**operators_of("columnar"), Process: kind})
    found = []
    for step in steps:
        match step:
            case Elements():
                made = interpreter.step(rows={"events": step.items})
            case Watermark():
                made = interpreter.step(watermarks={"events": step.us})
            case _:
                made = interpreter.step(now=step.us)
        values = [(row.values, row.time) for row in made.rows[node]]
        tagged = {
            tag: sorted(f"{row.values}" for row in some) for tag, some in made.tagged[node].items()
        }
        found.append((sorted(values, key=lambda each: str(each[0]["k"])), tagged))
    return found


def keyed(keys, **columns):
    return pl.DataFrame({"key 0": keys, **columns})


def shard_of(table, number, before):
    return table.filter(hashed(table, ["key 0"]) % before == number)


def shard(table, number, before, **clocks):
    """One of the shards that a table of a window and a part of another one are in."""
    mine = shard_of(table, number, before)
    blob = packed(mine)
    ended = Bucket((0, 10), ["panes"], mine.height, len(blob), wakes=20 + number, holds=5 + number)
    part = Part(arrived=7 - number, rows=mine.height, size=len(blob))
    waits = Bucket((10, 20), wakes=20, lanes=[Lane("rows", 3, [part])])
    operators = {"totals": Clocks(buckets=[ended, waits], **clocks)}
    blobs = InMemoryStore({"totals/0:10/panes": blob, "totals/10:20/rows#3+0": blob})
    return Document(operators=operators), blobs


@pytest.mark.parametrize(("before", "shards"), [(1, 3), (3, 1), (2, 5), (4, 3)])
def test_each_key_is_in_the_shard_of_its_hash_with_the_facts_of_its_bucket(before, shards):
    table = keyed([f"k{i}" for i in range(200)], new=range(200))
    documents, stores = zip(*(shard(table, i, before) for i in range(before)), strict=True)
    states = rescaled(documents, stores, shards)
    assert len(states) == shards
    for number, state in enumerate(states):
        ended, waits = state.document.operators["totals"].buckets
        expected = shard_of(table, number, shards).sort("new")
        found = unpacked(state.blobs["totals/0:10/panes"])
        assert found.sort("new").equals(expected)
        assert (ended.rows, ended.size) == (found.height, len(state.blobs["totals/0:10/panes"]))
        assert (ended.wakes, ended.holds) == (20, 5)
        (lane,) = waits.lanes
        assert (lane.port, lane.number) == ("rows", 3)
        assert [part.arrived for part in lane.parts] == list(range(8 - before, 8))
        parts = [unpacked(state.blobs[f"totals/10:20/rows#3+{n}"]) for n in range(before)]
        assert pl.concat(parts).sort("new").equals(expected)


def test_buckets_that_are_parts_of_the_keys_are_chosen_anew():
    table = keyed([f"k{i}" for i in range(500)], n=range(500))
    numbers = hashed(table, ["key 0"])
    table = table.with_columns(bucket=(numbers // 1 % BUCKETS).cast(pl.UInt8))
    parts = table.partition_by("bucket", as_dict=True)
    blobs = InMemoryStore({f"p/{n}/keys": packed(rows) for (n,), rows in parts.items()})
    buckets = [Bucket((n,), ["keys"], rows.height, 1) for (n,), rows in parts.items()]
    states = rescaled([Document(operators={"p": Clocks(buckets=buckets)})], [blobs], 3)
    found = []
    for number, state in enumerate(states):
        for bucket in state.document.operators["p"].buckets:
            rows = unpacked(state.blobs[f"p/{bucket.name[0]}/keys"])
            mine = hashed(rows, ["key 0"])
            assert (mine % 3 == number).all()
            assert (mine // 3 % BUCKETS == bucket.name[0]).all()
            assert (rows["bucket"] == bucket.name[0]).all()
            assert rows["bucket"].dtype == pl.UInt8
            found.append(rows)
    assert pl.concat(found).drop("bucket").sort("n").equals(table.drop("bucket").sort("n"))


def test_keys_that_are_in_a_shard_of_others_are_an_error():
    document, blobs = shard(keyed(["red", "blue", "green"], new=[1, 2, 3]), 0, 1)
    with pytest.raises(ValueError, match="totals/0:10/panes has keys of another shard"):
        list(cut_shard(document, blobs, 0, 2, 3))


def test_new_shards_are_as_far_as_all_old_ones():
    clocks = [
        Clocks(10, 8, 100, Channels(10, 50, {"s/t": {"0": Channel(12, 90), "1": Channel(10, 80)}})),
        Clocks(10, 9, 120, Channels(10, 60, {"s/t": {"0": Channel(12, 95)}})),
    ]
    common = common_clocks([Document(operators={"totals": each}) for each in clocks])
    found = common.operators["totals"]
    assert (found.watermark, found.output_watermark, found.now) == (10, 8, 100)
    splits = {"s/t": {"0": Channel(12, 95), "1": Channel(10, 80)}}
    assert found.channels == Channels(10, 50, splits)


def test_the_channels_from_an_operator_are_its_new_shards():
    splits = {"totals": {"0": Channel(12, 90), "1": Channel(10, 80)}, "s/t": {"0": Channel(3, 4)}}
    document = Document(operators={"next": Clocks(channels=Channels(10, 0, splits))})
    made = with_new_shards(document, ["totals", "next"], 3).operators["next"].channels.splits
    assert made == {"totals": dict.fromkeys("012", Channel(10, 90)), "s/t": {"0": Channel(3, 4)}}


@pytest.mark.parametrize("other", [Clocks(11), Clocks(10, shared=Shared(made=11))])
def test_shards_that_are_not_equally_far_are_not_redistributed(other):
    documents = [Document(operators={"totals": each}) for each in (Clocks(10), other)]
    with pytest.raises(DifferentClocksError, match="totals"):
        common_clocks(documents)


def test_values_in_pages_keep_them_under_ids_of_their_own():
    places = {"large items": [{"id": 0, "size": 9}, None, {"id": 1, "size": 9}]}
    before, table = 2, keyed(["k1", "k2", "k3", "k4", "k5", "k6"])
    documents, stores, expected = [], [], {}
    for number in range(before):
        keys = shard_of(table, number, before)["key 0"].to_list()[:3]
        rows = keyed(keys, bucket=[0] * 3, **places)
        blobs = InMemoryStore({"p/0/keys": packed(rows)})
        for id, key in ((0, keys[0]), (1, keys[2])):
            expected[key] = [f"{key} {page}" for page in range(2)]
            for page, text in enumerate(expected[key]):
                blobs[f"p/0/items.{id}.{page}"] = packed(pl.DataFrame({"item": [text]}))
        bucket = Bucket((0,), ["keys"], 3, 1)
        documents.append(Document(operators={"p": Clocks(buckets=[bucket])}))
        stores.append(blobs)
    found = {}
    for state in rescaled(documents, stores, 1):
        for bucket in state.document.operators["p"].buckets:
            prefix = f"p/{bucket.name[0]}"
            pages = [n for n in state.blobs if n.startswith(f"{prefix}/items.")]
            assert bucket.paged == sum(len(state.blobs[name]) for name in pages)
            for row in unpacked(state.blobs[f"{prefix}/keys"]).to_dicts():
                if row["large items"] is not None:
                    names = [f"{prefix}/items.{row['large items']['id']}.{n}" for n in range(2)]
                    found[row["key 0"]] = [unpacked(state.blobs[n])["item"][0] for n in names]
    assert found == expected


@pytest.mark.parametrize("large", [4096, 1])
def test_processors_emit_the_same_however_often_they_are_rescaled(monkeypatch, large):
    monkeypatch.setattr(paged, "LARGE", large)
    monkeypatch.setattr(paged, "PAGE", max(large // 4, 2))
    compared = 0
    for seed in range(80):
        drawn = RandomPrograms(seed)
        (node,) = with_distinct_names(drawn.program().node)
        if sum(isinstance(each, Stateful) for each in walk(node)) > 1:
            continue
        script = drawn.steps()
        compared += 1
        expected = emitted(node, script, False, monkeypatch)
        assert emitted(node, script, True, monkeypatch) == expected, f"seed {seed}"
    assert compared > 20
