"""What a program may change and still go on with its checkpoint, and what is refused."""

from __future__ import annotations

import json
import os
from dataclasses import field
from pathlib import Path

import pytest

import millstream as ms
from millstream.physical.plan import physical
from millstream.spark.driver.checkpoint import opened

COLUMNS = "k string, x int, at double"


def rows(path="/in", name: str | None = "rows") -> ms.Stream:
    return ms.read_files(
        path, "json", schema=COLUMNS, event_time="at", watermark=ms.bounded("5s"), name=name
    )


def counted(stream: ms.Stream) -> ms.Stream:
    return stream.key_by("k").window(ms.fixed("1m")).aggregate(n=ms.count())


def resumed(folder: Path, *parts: ms.Pipeline) -> None:
    """Opens the checkpoint as ``run`` would."""
    opened("job", str(folder), physical(ms.pipeline(*parts).sinks), [0, 1], None)


def refusal(folder: Path, *parts: ms.Pipeline) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError, match="MS207") as caught:
        resumed(folder, *parts)
    return caught.value


def big_and_small(big: str = "x > 10", *, named: bool = False) -> tuple[ms.Stream, ms.Stream]:
    source = rows()
    halves = counted(source.filter(big)), counted(source.filter("x <= 10"))
    return (halves[0].named("big n"), halves[1].named("small n")) if named else halves


def test_alike_groupings_that_change_their_numbers_are_refused(tmp_path):
    big, small = big_and_small()
    resumed(tmp_path, big.collect("big"), small.collect("small"))
    resumed(tmp_path, big.collect("big"), small.collect("small"), small.write_console())
    error = refusal(tmp_path, small.write_console(), big.collect("big"), small.collect("small"))
    difference = [line.strip() for line in error.what.splitlines()]
    assert "-    of     filter: keeps x > 10" in difference
    assert "+    of     filter: keeps x <= 10" in difference
    assert ".named('…')" in error.fix


def test_alike_groupings_are_told_apart_by_the_steps_before_them(tmp_path):
    big, small = big_and_small()
    resumed(tmp_path, big.collect("big"), small.collect("small"))
    other, small = big_and_small("x > 11")
    assert "start over, with names" in refusal(tmp_path, other.collect("big"), small.collect()).fix


def test_groupings_with_names_may_have_other_sinks_and_other_steps_before_them(tmp_path):
    big, small = big_and_small(named=True)
    resumed(tmp_path, big.collect("big"), small.collect("small"))
    other, small = big_and_small("x > 11", named=True)
    resumed(tmp_path, small.write_console(), small.collect("small"), other.collect("big"))


def test_steps_before_groupings_that_are_not_alike_may_change(tmp_path):
    def program(condition: str) -> list[ms.Pipeline]:
        stream = rows().filter(condition)
        by_minute = counted(stream).collect("by minute")
        by_hour = stream.key_by("k").window(ms.fixed("1h")).aggregate(n=ms.count())
        return [by_minute, by_hour.collect("by hour")]

    resumed(tmp_path, *program("x > 10"))
    resumed(tmp_path, *program("x > 11"))


def test_groupings_of_sources_with_names_are_told_apart_by_those(tmp_path):
    def program(condition: str) -> list[ms.Pipeline]:
        return [counted(rows(name=n).filter(condition)).collect(f"of {n}") for n in ("a", "b")]

    resumed(tmp_path, *program("x > 10"))
    resumed(tmp_path, *program("x > 11"))


def test_sinks_may_change_where_sources_event_times_and_groupings_have_names(tmp_path):
    sinks = [
        counted(rows(name=name).named(f"times of {name}"))
        .named(f"n of {name}")
        .collect(f"all of {name}")
        for name in ("a", "b")
    ]
    resumed(tmp_path, *sinks)
    resumed(tmp_path, *reversed(sinks))


def test_a_step_with_a_name_tells_alike_groupings_apart(tmp_path):
    def program(condition: str) -> list[ms.Pipeline]:
        source = rows()
        big = counted(source.filter(condition).named("is big")).collect("big")
        return [big, counted(source.filter("x <= 10").named("is small")).collect("small")]

    resumed(tmp_path, *program("x > 10"))
    resumed(tmp_path, *program("x > 11"))
    big, small = program("x > 10")
    assert "+    of     filter 'is small'" in refusal(tmp_path, small, big).what


def test_groupings_behind_alike_groupings_are_told_apart_as_well(tmp_path):
    def program() -> list[ms.Pipeline]:
        return [
            half.window(ms.fixed("1h")).aggregate(most=ms.max("n")).collect(name)
            for half, name in zip(big_and_small(), ("big", "small"), strict=True)
        ]

    resumed(tmp_path, *program())
    resumed(tmp_path, *program())
    refusal(tmp_path, *reversed(program()))


@pytest.mark.parametrize(
    "sources",
    [
        lambda name: (rows("/in/a", name("a")), rows("/in/b", name("b"))),
        lambda name: (
            ms.from_rows([(1,)], "n int", name=name("a")),
            ms.from_rows([("x",)], "k string", name=name("b")),
        ),
    ],
    ids=["files", "rows"],
)
def test_alike_sources_that_change_their_numbers_are_refused(tmp_path, sources):
    a, b = (each.write_files(f"/out/{i}") for i, each in enumerate(sources(lambda name: None)))
    resumed(tmp_path / "numbers", a, b)
    resumed(tmp_path / "numbers", a, b)
    assert "name='…'" in refusal(tmp_path / "numbers", b, a).fix
    a, b = (each.write_files(f"/out/{i}") for i, each in enumerate(sources(lambda name: name)))
    resumed(tmp_path / "names", a, b)
    resumed(tmp_path / "names", b, a)


def test_one_source_without_a_name_may_read_another_folder(tmp_path):
    resumed(tmp_path, counted(rows("/in/a", None)).collect())
    resumed(tmp_path, counted(rows("/in/b", None)).collect())


def by_functions_of_one_name() -> list[ms.Stream]:
    source = rows()

    def by(column: str) -> ms.Stream:
        def key(row) -> str:
            return str(row[column])

        return source.key_by(key).window(ms.fixed("1m")).aggregate(n=ms.count())

    return [by("k"), by("x")]


@pytest.mark.parametrize(
    "alike",
    [
        by_functions_of_one_name,
        lambda: [ms.from_rows([(n,)], schema="n int") for n in (1, 2)],
        lambda: [
            ms.read_files("/in", "text", options={"pathGlobFilter": glob}) for glob in ("a*", "b*")
        ],
    ],
    ids=["functions", "rows", "options"],
)
def test_what_a_checkpoint_could_never_tell_apart_is_refused_at_once(tmp_path, alike):
    one, other = alike()
    error = refusal(tmp_path, one.collect("one"), other.collect("other"))
    assert error.what.startswith("a checkpoint cannot distinguish ")
    assert list(tmp_path.iterdir()) == []
    resumed(tmp_path, one.collect("one"))


def test_two_steps_that_are_the_same_need_no_names(tmp_path):
    source = rows()
    one, other = counted(source).collect("one"), counted(source).collect("other")
    resumed(tmp_path, one, other)
    resumed(tmp_path, other, one)


def test_groupings_with_names_keep_their_state_when_a_sink_is_added(tmp_path, spark):
    def put(number: int, *given: tuple[str, int, float]) -> None:
        lines = [json.dumps(dict(zip(("k", "x", "at"), row, strict=True))) for row in given]
        file = tmp_path / f".{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (1_000_000_000 + number,) * 2)
        (tmp_path / "in").mkdir(exist_ok=True)
        file.rename(tmp_path / "in" / f"{number}.json")

    def run(*names: str) -> ms.Job:
        source = rows(tmp_path / "in")
        streams = {
            "big": counted(source.filter("x > 10")).named("big n"),
            "small": counted(source.filter("x <= 10")).named("small n"),
        }
        sinks = [streams[name.partition(" ")[0]].collect(name) for name in names]
        program = ms.pipeline(*sinks)
        return program.run("job", checkpoint=tmp_path / "cp", spark=spark).process_all().stop()

    put(0, *[("a", 100, 1.0)] * 7, *[("a", 1, 2.0)] * 2)
    run("big", "small")
    put(1, ("a", 100, 500.0), ("a", 1, 500.0))
    job = run("small too", "small", "big")
    found = {name: [row["n"] for row in job.rows(name)] for name in ("big", "small", "small too")}
    assert found == {"big": [7], "small": [2], "small too": [2]}


def test_state_of_a_processor_is_read_by_one_with_more_fields_and_by_no_other(tmp_path, spark):
    class Counts(ms.Processor):
        class state:  # noqa: N801
            n: int = 0

        def on_row(self, row, state, timers, out):
            state.n += 1
            out.emit(k=row["k"], what=f"{vars(state)}")

    class Named(Counts):
        class state:  # noqa: N801
            first: str = "nobody"
            n: int = 0

        def on_row(self, row, state, timers, out):
            out.emit(k=row["k"], what=f"{state.first} {state.n}")
            state.first = None
            state.n += 10

    def run(processor, number: int, *keys: str) -> list[str]:
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.json").write_text(
            "\n".join(json.dumps({"k": key, "x": 1, "at": 1.0}) for key in keys)
        )
        counts = (
            rows(tmp_path / "in").key_by("k").process(processor, schema="k string, what string")
        )
        program = counts.collect("counts")
        job = program.run("job", checkpoint=tmp_path / "cp", spark=spark).process_all().stop()
        return sorted(f"{row['k']} {row['what']}" for row in job.rows())

    assert run(Counts, 0, "a", "b", "a")[-1] == "b {'n': 1}"
    assert run(Named, 1, "a") == ["a nobody 2"]
    # The one key has been written with the field, whose value is null, the other has not.
    assert run(Named, 2, "a", "b") == ["a None 12", "b nobody 1"]
    with pytest.raises(ms.MillstreamError, match="MS207.*\n.*has no field 'first' now"):
        run(Counts, 3, "a")


def test_a_large_list_and_dict_of_a_key_resume_from_their_pages(tmp_path, spark):
    class Large(ms.Processor):
        class state:  # noqa: N801
            items: list[int] = field(default_factory=list)
            counts: dict[str, int] = field(default_factory=dict)

        def on_row(self, row, state, timers, out):
            if not state.items:
                state.items.extend(range(10_000))
                state.counts.update((f"{n}", n) for n in range(10_000))
            state.items.append(row["x"])
            state.counts["5000"] += row["x"]
            found = [len(state.items), state.items[-1], state.items[7], state.counts["5000"]]
            out.emit(k=row["k"], found=found)

    def run(number: int) -> list[int]:
        (tmp_path / "in").mkdir(exist_ok=True)
        row = {"k": "a", "x": number, "at": 1.0}
        (tmp_path / "in" / f"{number}.json").write_text(json.dumps(row))
        large = (
            rows(tmp_path / "in").key_by("k").process(Large, schema="k string, found array<int>")
        )
        job = large.collect("found").run("job", checkpoint=tmp_path / "cp", spark=spark)
        (row,) = job.process_all().stop().rows()
        return row["found"]

    assert run(3) == [10_001, 3, 7, 5_003]
    assert run(4) == [10_002, 4, 7, 5_007]


def test_one_topic_does_not_become_several_nor_several_one(tmp_path):
    def records(*topics: str, **options: str) -> ms.Pipeline:
        read = ms.read_kafka(
            topics or None, COLUMNS, event_time="at", watermark=ms.bounded("5s"), **options
        )
        return counted(read).collect("counts")

    resumed(tmp_path / "one", records("a"))
    difference = refusal(tmp_path / "one", records("a", "b")).what
    assert "+kafka 'kafka-1', split by topic and partition" in difference
    resumed(tmp_path / "several", records("a", "b"))
    resumed(tmp_path / "several", records("a", "b", "c"))
    resumed(tmp_path / "several", records(pattern="[ab]"))
    refusal(tmp_path / "several", records("a"))


def test_state_of_spark_without_a_plan_is_refused(tmp_path):
    sink = counted(rows()).collect()
    resumed(tmp_path, sink)
    (tmp_path / "job" / "spark" / "offsets").mkdir(parents=True)
    resumed(tmp_path, sink)
    (tmp_path / "job" / "plan.json").unlink()
    error = damage(tmp_path, sink)
    assert f"the checkpoint '{tmp_path}/job' has state of Spark, but no plan.json" in error.what
    assert "another name or checkpoint to start over" in error.fix
    assert not (tmp_path / "job" / "plan.json").exists()


def damage(folder: Path, *parts: ms.Pipeline) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError, match="MS210") as caught:
        resumed(folder, *parts)
    return caught.value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no JSON: Expecting value"),
        ('{"version": 4, "run', "is no JSON: Unterminated string"),
        ("\udcff", "is no JSON: "),
        ("[1]", "is no JSON object"),
        ('{"version": 4}', "has no 'run'"),
        ('{"version": 4, "run": 7}', "has a 'run' that is none: 7"),
        ('{"version": 4, "run": "a1b2c3d4", "labels": ["x"]}', "has a 'labels' that is none: ['x"),
        ('{"version": 4, "run": "a1b2c3d4", "labels": [0]}', "has no 'plan'"),
        ('{"version": "4"}', "has a 'version' that is none: '4'"),
    ],
)
def test_a_plan_that_is_not_whole_is_refused(tmp_path, text, says):
    sink = counted(rows()).collect()
    resumed(tmp_path, sink)
    (tmp_path / "job" / "plan.json").write_bytes(text.encode(errors="surrogateescape"))
    error = damage(tmp_path, sink)
    assert f"the checkpoint '{tmp_path}/job' is damaged: plan.json {says}" in error.what
    assert "put the folder back from a copy" in error.fix


@pytest.mark.parametrize("file", ["metadata", "offsets/12", "commits/12"])
@pytest.mark.parametrize("text", ["", "v1", "v1\n{", '{"id'])
def test_notes_of_spark_that_are_cut_off_are_refused(tmp_path, file, text):
    sink = counted(rows()).collect()
    resumed(tmp_path, sink)
    whole = {
        "metadata": '{"id":"1-2"}',
        "offsets/9": "",  # of old ones nobody needs to know
        "offsets/12": 'v1\n{"batchWatermarkMs":0}\n-\n{"logOffset":3}\n0\n{}',
        "commits/12": 'v1\n{"nextBatchWatermarkMs":0}',
        "sources/0/0": "v1\n",
    }
    for name, content in whole.items():
        place = tmp_path / "job" / "spark" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    resumed(tmp_path, sink)
    (tmp_path / "job" / "spark" / file).write_text(text)
    assert f"is damaged: spark/{file} is empty or cut off" in damage(tmp_path, sink).what


@pytest.mark.parametrize("file", ["metadata", "offsets/12", "sources"])
def test_notes_of_spark_that_are_missing_are_refused(tmp_path, file):
    sink = counted(rows()).collect()
    resumed(tmp_path, sink)
    for name, content in {
        "metadata": '{"id":"1-2"}',
        "offsets/12": 'v1\n{"batchWatermarkMs":0}\n{"logOffset":3}',
        "commits/12": 'v1\n{"nextBatchWatermarkMs":0}',
        "sources/0/0": "v1\n",
    }.items():
        place = tmp_path / "job" / "spark" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    resumed(tmp_path, sink)
    (tmp_path / "job" / "spark" / file).rename(tmp_path / "elsewhere")
    assert f"is damaged: spark/{file} is missing" in damage(tmp_path, sink).what


def test_a_disk_that_spark_finds_full_is_an_error_that_says_what_to_do(tmp_path):
    checkpoint = opened("job", str(tmp_path), physical(rows().collect().sinks), [0, 1], None)
    raw = RuntimeError("java.io.IOException: No space left on device\n\tat java.base/…")
    error = checkpoint.cause_of(raw)
    assert str(error) == (
        f"MS211: job 'job' cannot write to its checkpoint '{tmp_path}/job': No space left on "
        "device, there or where Spark keeps temporary files\n"
        "  What to do: make room in both, then run the job again: with a checkpoint, it resumes "
        "after the last committed batch\n"
        "  More: millstream help MS211"
    )
    assert error.__context__ is raw
    assert error.__suppress_context__  # hundreds of lines of Java
    other = RuntimeError("java.io.FileNotFoundException: /in/a.json (Permission denied)")
    assert checkpoint.cause_of(other) is other
    assert [file.name for file in (tmp_path / "job").iterdir()] == ["plan.json"]


def test_a_checkpoint_that_can_no_longer_be_written_explains_what_ended_the_job(tmp_path):
    checkpoint = opened("job", str(tmp_path), physical(rows().collect().sinks), [0, 1], None)
    (tmp_path / "job").rename(tmp_path / "elsewhere")
    (tmp_path / "job").write_text("in its place")
    error = checkpoint.cause_of(RuntimeError("java.io.IOException: something"))
    assert str(error).startswith(
        f"MS211: job 'job' cannot write to its checkpoint '{tmp_path}/job'"
    )


def test_an_owner_whose_predecessor_has_begun_the_next_batch_is_told_to_run_again(tmp_path):
    checkpoint = opened("job", str(tmp_path), physical(rows().collect().sinks), [0, 1], None)
    raw = RuntimeError("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log.")
    error = checkpoint.cause_of(raw)
    assert isinstance(error, ms.MillstreamError)
    assert error.code == "MS351"
    assert error.fix == "run the job again: it resumes with that batch, and nothing is lost"
    assert error.__context__ is raw
    assert error.__suppress_context__  # hundreds of lines of Java
