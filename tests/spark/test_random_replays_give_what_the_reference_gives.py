"""Random groupings and chains of them, replayed on Spark, give the panes of the reference.

Their steps move the clock, too, which those of jobs cannot.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import millstream as ms
from agreement import seen
from millstream.testing import Elements, replay, test_stream
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.pipelines import checked_grouping
from scripts import safe_triggers, steps, windows
from soak import one_round_on_spark

CHAINS = st.tuples(
    windows(("fixed", "sliding", "session")),
    safe_triggers(),
    windows(("fixed", "session")),
    safe_triggers(),
    st.sampled_from([ms.accumulating, ms.retracting]),
    st.sampled_from([0, "100d"]),
    st.sampled_from(["end", "earliest", "latest"]),
    steps(8),
)


def test_sixty_groupings_give_the_panes_and_late_elements_of_the_reference():
    assert not one_round_on_spark(1, examples=60)


def test_eight_chains_of_two_groupings_give_the_panes_of_the_reference():
    drawn = []

    @seed(1)
    @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(CHAINS)
    def draw(chain):
        drawn.append((chain_of(*chain[:-1]), [as_rows(step) for step in chain[-1]]))

    draw()
    programs = [Program(checked_grouping(chain.node), script) for chain, script in drawn]
    for (chain, script), panes in zip(drawn, replay_programs(programs), strict=True):
        expected = replay(chain, steps=script)
        assert seen(panes) == seen(expected)
        assert sorted(map(repr, panes.late)) == sorted(map(repr, expected.late))


def chain_of(first, first_trigger, second, second_trigger, refine, lateness, timestamp):
    default = ms.repeatedly(ms.at_watermark())
    totals = (
        test_stream("key string, value int, at double", event_time="at")
        .key_by("key")
        .window(first, allowed_lateness="100d", timestamp=timestamp)
        .trigger(first_trigger or default)
        .refine(ms.retracting)
        .aggregate(total=ms.sum("value"), best=ms.max("value"))
    )
    return (
        totals.key_by("total % 3 AS rest")
        .window(second, allowed_lateness=lateness, timestamp="earliest")
        .trigger(second_trigger or default)
        .refine(refine)
        .aggregate(n=ms.count(), sum=ms.sum("total"), all=ms.collect("best"), last=ms.last("key"))
    )


def as_rows(step):
    if not isinstance(step, Elements):
        return step
    return Elements({"key": k, "value": v, "at": float(t)} for k, v, t in step.items)
