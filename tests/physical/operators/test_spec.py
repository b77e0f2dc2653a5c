"""What workers know of an operator: the keys of each of its ports, and what is not sent along."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import millstream as ms
from millstream.physical import operators
from millstream.physical.operators import spec_of
from millstream.physical.operators.changes import ChangesSpec
from millstream.physical.plan import physical
from millstream.plan.nodes import Port, Sink
from millstream.plan.operators.changes import Changes


@dataclass(frozen=True, eq=False)
class Both(Changes):
    """An operator with two ports, whose keys have other names."""

    kind = "both"


def test_each_port_has_the_names_of_its_own_keys(monkeypatch):
    monkeypatch.setitem(operators.SPECS, Both, ChangesSpec)
    doors = ms.from_rows([], "door string, n int", name="doors").key_by("door")
    rooms = ms.from_rows([], "room string, n int", name="rooms").key_by("room")
    ports = tuple(
        Port(name, stream.node, stream.settings.keys)
        for name, stream in (("left", doors), ("right", rooms))
    )
    node = Both("both", doors.schema, ports, columns=("n",))
    (sink,) = doors.changes("n").collect("all").sinks
    assert isinstance(sink, Sink)
    spec = spec_of(physical((replace(sink, input=node),)), node, {})
    assert spec.keys == {"left": ("door",), "right": ("room",)}
    assert spec.engine_keys == ["key 0"]


def test_what_is_compiled_stays_where_it_was_made():
    counts = ms.from_rows([], "n int").key_by("n").aggregate(m=ms.count())
    plan = physical(counts.collect().sinks)
    (node,) = plan.levels
    spec = spec_of(plan, node, {})
    assert spec.operator is spec.operator
    sent = pickle.loads(pickle.dumps(spec))
    assert "operator" not in vars(sent)
    assert sent.keys == {"rows": ("n",)}
