"""MS145: a program does not read what it writes."""

from __future__ import annotations

import pytest

import millstream as ms

SCHEMA = "k string, v int"


def topic(name: str, **how) -> ms.Stream:
    return ms.read_kafka(name, SCHEMA, **how)


def folder(path: str) -> ms.Stream:
    return ms.read_files(path, "json", SCHEMA)


def refusal(*parts: ms.Pipeline) -> ms.PlanError:
    with pytest.raises(ms.PlanError, match="MS145") as caught:
        ms.pipeline(*parts)
    return caught.value


@pytest.mark.parametrize(
    ("stream", "sink"),
    [
        (topic("a"), lambda s: s.write_kafka("a")),
        (topic(["b", "a"]), lambda s: s.filter("v > 1").write_kafka("a")),
        (topic("a", servers="h:1,i:2"), lambda s: s.write_kafka("a", servers="i:2, h:1")),
        (folder("/data/in"), lambda s: s.write_files("/data/in/", "json")),
        (folder("/data/*"), lambda s: s.write_files("/data/out", "json")),
        (folder("/data/out/*.json"), lambda s: s.write_files("/data/out", "json")),
        (topic("b").join(topic("a"), on="k", unbounded_state=True), lambda s: s.write_kafka("a")),
    ],
)
def test_a_sink_does_not_write_into_its_own_source(stream, sink):
    with pytest.raises(ms.PlanError) as caught:
        sink(stream)
    assert caught.value.code == "MS145"
    assert caught.value.step.startswith("write_")


def test_rows_do_not_go_round_by_way_of_another_sink():
    there, back = (
        topic("a").write_kafka("b", name="there"),
        topic("b").write_kafka("a", name="back"),
    )
    error = refusal(there, back)
    assert error.what in {f"the program reads what it writes: the topic {n!r}" for n in "ab"}


@pytest.mark.parametrize(
    "parts",
    [
        (topic("a").write_kafka("b"),),
        (topic("a", until="latest").write_kafka("a"),),
        (topic("a", servers="h:1").write_kafka("a", servers="i:1"),),
        (topic("a").write_kafka("b", name="x"), topic("b").write_kafka("c", name="y")),
        (folder("/data/in").write_files("/data/out", "json"),),
        (folder("/data/a").write_kafka("a"),),
        (folder("/data/*").write_files("/data/out/json", "json"),),
        (folder("/data/*.json").write_files("/data", "csv"),),
        (ms.read_kafka(pattern="a.*", schema=SCHEMA).write_kafka("ba"),),
    ],
)
def test_other_programs_may_write_where_they_like(parts):
    assert ms.pipeline(*parts).sinks


def test_a_pattern_reads_what_it_fits():
    with pytest.raises(ms.PlanError, match="MS145"):
        ms.read_kafka(pattern="a.*", schema=SCHEMA).write_kafka("ab")
