"""Random groupings and chains of them, replayed on Spark, give the panes of the reference.

Their steps move the clock, too, which those of jobs cannot.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import millstream as ms
from agreement import seen
from chains import SHAPES, as_rows, chain_of
from millstream.model.windowing import checked_windowing
from millstream.testing import replay
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.pipelines import checked_grouping
from millstream.testing.spark_groupings import Script, replay_scripts
from scripts import refinements, safe_triggers, steps, windows
from soak import one_round_on_spark

OVER_TOTALS = {
    "n": ms.count(),
    "sum": ms.sum("total"),
    "all": ms.collect("best"),
    "last": ms.last("key"),
}


def test_sixty_groupings_give_the_panes_and_late_elements_of_the_reference():
    assert not one_round_on_spark(1, examples=60)


def test_eight_chains_of_two_groupings_give_the_panes_of_the_reference():
    drawn = []

    @seed(1)
    @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(SHAPES, steps(8))
    def draw(shape, script):
        drawn.append((chain_of(shape, "int", **OVER_TOTALS), [as_rows(step) for step in script]))

    draw()
    programs = [Program(checked_grouping(chain.node), script) for chain, script in drawn]
    for (chain, script), panes in zip(drawn, replay_programs(programs), strict=True):
        expected = replay(chain, steps=script)
        assert seen(panes) == seen(expected)
        assert sorted(map(repr, panes.late)) == sorted(map(repr, expected.late))


POLICIES = st.fixed_dictionaries(
    {
        "window": windows(("count", "clock", "delta", "marked")),
        "trigger": safe_triggers(watermark=False),
        "refine": refinements(),
        "timestamp": st.sampled_from(["end", "earliest", "latest"]),
    }
)


def test_forty_groupings_whose_windows_the_watermark_does_not_end_give_those_of_the_reference():
    drawn = []

    @seed(2)
    @settings(max_examples=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(POLICIES, steps(8))
    def draw(program, script):
        drawn.append((program, script))

    draw()
    total = ms.sum("value")
    scripts = [Script(checked_windowing(**program), script, total) for program, script in drawn]
    for (program, script), panes in zip(drawn, replay_scripts(scripts), strict=True):
        expected = replay(**program, aggregate=total, steps=script)
        assert seen(panes) == seen(expected)
        assert sorted(map(repr, panes.late)) == sorted(map(repr, expected.late))
