"""Each kind of target has its sink."""

from __future__ import annotations

import subprocess
import sys

import pytest

from millstream.plan import targets
from millstream.plan.targets import Console, Each, Files, Kafka, Memory, Target
from millstream.sinks.kinds import sink_of, sinks_of

TARGETS = (Memory(), Files("/out", "json"), Console(20), Each(print))


class Elsewhere(Target):
    kind = "elsewhere"


def test_a_target_that_no_one_knows_is_an_error():
    with pytest.raises(TypeError, match="an unknown target"):
        sink_of("out", Elsewhere())


def test_every_target_that_the_plan_describes_has_a_sink():
    named = [each for each in vars(targets).values() if isinstance(each, type)]
    described = {each for each in named if issubclass(each, Target)} - {Target}
    assert described == {Kafka, *map(type, TARGETS)}
    for target in TARGETS:
        assert sink_of("out", target).target is target


def test_the_sinks_of_a_program_have_its_names():
    import millstream as ms

    rows = ms.from_rows([(1,)], schema="n int")
    program = ms.pipeline(rows.collect("kept"), rows.write_files("/out", "json", name="files"))
    assert [sink.name for sink in sinks_of(program.sinks)] == ["kept", "files"]


def test_only_rows_for_the_program_itself_are_shown_where_it_runs():
    assert [sink_of("out", target).shown for target in TARGETS] == [True, False, True, False]


def test_writers_need_no_spark():
    program = (
        "import sys\n"
        "from millstream.plan.targets import Console, Each, Files, Memory\n"
        "from millstream.sinks.kinds import sink_of\n"
        "from millstream.sinks.slices import Slice\n"
        "for target in Memory(), Console(1), Each(print), Files('/out', 'json'):\n"
        "    sink = sink_of('out', target)\n"
        "    sink.writer(Slice('a1b2c3d4', 0, 0, 0)), sink.committer()\n"
        "print('pyspark' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
