"""What must hold for all windows, triggers, refinements and orders of arrival."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.model.windows import Fixed, Global, Session, Sliding
from millstream.testing import Elements, Watermark, replay
from scripts import safe_triggers, steps, triggers, windows

FOR_EVER = "100d"
SECOND = 1_000_000


def elements_of(script):
    return [element for step in script if isinstance(step, Elements) for element in step.items]


def windows_of(kind, time):
    """Brute force over whole seconds: every window of the kind that covers the time."""
    match kind:
        case Global():
            return [(float("-inf"), float("inf"))]
        case Fixed(size, offset):
            period = size
        case Sliding(size, period, offset):
            pass
    size, period, offset = size // SECOND, period // SECOND, offset // SECOND
    starts = range(time - size, time + 1)
    return [
        (float(s), float(s + size))
        for s in starts
        if (s - offset) % period == 0 and s <= time < s + size
    ]


def sessions_of(kind, elements):
    gap, found = kind.gap // SECOND, []
    for element in sorted(elements, key=lambda e: e[2]):
        time = element[2]
        if found and (time < found[-1][1] or (kind.touching and time == found[-1][1])):
            found[-1] = (found[-1][0], time + gap, [*found[-1][2], element[1]])
        else:
            found.append((time, time + gap, [element[1]]))
    return {(float(start), float(end)): sorted(values) for start, end, values in found}


def batch_result(kind, script):
    """Each key's windows and their sorted values, computed from all elements at once."""
    result = defaultdict(list)
    elements = elements_of(script)
    if isinstance(kind, Session):
        for key in {e[0] for e in elements}:
            for window, values in sessions_of(kind, [e for e in elements if e[0] == key]).items():
                result[key, window] = values
    else:
        for key, value, time in elements:
            for window in windows_of(kind, time):
                result[key, window].append(value)
    return {where: tuple(sorted(values)) for where, values in result.items()}


def by_window(panes):
    result = defaultdict(list)
    for pane in panes:
        result[pane.key, pane.window].append(pane)
    return result


@given(windows(), safe_triggers(), steps())
def test_the_last_accumulating_value_of_a_window_is_the_batch_result(window, trigger, script):
    panes = by_window(
        replay(
            window=window,
            trigger=trigger,
            refine=ms.accumulating,
            allowed_lateness=FOR_EVER,
            steps=script,
        )
    )
    expected = batch_result(window, script)
    assert {where: panes[where][-1].values for where in expected} == expected
    if not window.merging:
        assert set(panes) == set(expected)


@given(windows(("fixed", "sliding", "global")), safe_triggers(), steps())
def test_discarding_panes_add_up_to_the_batch_result(window, trigger, script):
    panes = by_window(
        replay(window=window, trigger=trigger, allowed_lateness=FOR_EVER, steps=script)
    )
    added = {where: tuple(sorted(v for p in ps for v in p.values)) for where, ps in panes.items()}
    assert added == batch_result(window, script)


@given(windows(("session",)), safe_triggers(), steps())
def test_discarding_panes_of_sessions_hold_every_element_once(window, trigger, script):
    panes = replay(window=window, trigger=trigger, allowed_lateness=FOR_EVER, steps=script)
    held = Counter((pane.key, value) for pane in panes for value in pane.values)
    assert held == Counter((key, value) for key, value, _ in elements_of(script))


@given(windows(), safe_triggers(), steps())
def test_retracting_panes_cancel_to_the_batch_result(window, trigger, script):
    panes = replay(
        window=window,
        trigger=trigger,
        refine=ms.retracting,
        allowed_lateness=FOR_EVER,
        steps=script,
    )
    standing = Counter()
    for pane in panes:
        standing[pane.key, pane.window, pane.values] += 1 if pane.kind == "+" else -1
        assert standing[pane.key, pane.window, pane.values] in (0, 1)
    left = {(key, window): values for (key, window, values), n in standing.items() if n}
    assert left == batch_result(window, script)


@given(
    windows(), triggers(), steps(), st.integers(0, 10), st.sampled_from(["always", "if_changed"])
)
def test_no_pane_comes_after_a_window_has_expired(window, trigger, script, lateness, closing):
    panes = replay(
        window=window,
        trigger=trigger,
        refine=ms.accumulating,
        allowed_lateness=lateness,
        closing=closing,
        allow_data_loss=True,
        steps=script,
    )
    before, watermark = [], float("-inf")
    for step in script:
        before.append(watermark)
        if isinstance(step, Watermark):
            watermark = max(watermark, step.time)
    for pane in panes:
        assert before[pane.step] < pane.window[1] + lateness or pane.window[1] == float("inf")


@given(windows(), triggers(), steps(), st.sampled_from([ms.discarding, ms.accumulating]))
def test_timings_go_early_then_on_time_then_late_and_indexes_count_from_zero(
    window, trigger, script, refine
):
    panes = by_window(
        replay(
            window=window,
            trigger=trigger,
            refine=refine,
            allowed_lateness=10,
            allow_data_loss=True,
            steps=script,
        )
    )
    for history in panes.values():
        timings = "".join(pane.timing[0] for pane in history)
        assert re.fullmatch("E*O?L*", timings)
        assert [pane.index for pane in history] == list(range(len(history)))
        assert [pane.first for pane in history] == [True] + [False] * (len(history) - 1)
        assert not any(pane.last for pane in history[:-1])


@given(windows(), triggers(), steps(), st.integers(0, 10))
def test_every_element_is_in_a_pane_or_late_in_each_of_its_windows(
    window, trigger, script, lateness
):
    panes = replay(
        window=window,
        trigger=trigger,
        allowed_lateness=lateness,
        allow_data_loss=True,
        steps=script,
    )
    copies = Counter()
    for key, value, time in elements_of(script):
        places = 1 if isinstance(window, Session) else len(windows_of(window, time))
        copies[key, value] += max(places, 1)  # one that falls between windows is late once
    found = Counter((pane.key, value) for pane in panes for value in pane.values)
    found.update((late.key, late.value) for late in panes.late)
    assert found == copies


@given(windows(), triggers(), steps(), st.randoms(use_true_random=False))
def test_the_order_within_a_bundle_does_not_matter(window, trigger, script, shuffler):
    settings = {
        "window": window,
        "trigger": trigger,
        "refine": ms.retracting,
        "allowed_lateness": 5,
        "allow_data_loss": True,
        "timestamp": "earliest",
    }
    panes = replay(steps=script, **settings)
    shuffled = replay(steps=[_shuffled(step, shuffler) for step in script], **settings)
    assert panes == shuffled
    assert [pane.timestamp for pane in panes] == [pane.timestamp for pane in shuffled]
    assert Counter(panes.late) == Counter(shuffled.late)


def _shuffled(step, shuffler: random.Random):
    if not isinstance(step, Elements):
        return step
    items = list(step.items)
    shuffler.shuffle(items)
    return Elements(items)
