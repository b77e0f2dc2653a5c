"""Random windows, triggers and scripts of steps, for properties that must hold for all of them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

from hypothesis import strategies as st

import millstream as ms
from millstream.testing import Elements, ProcessingTime, Watermark

KEYS = ("a", "b")
LAST_SECOND = 253_402_300_799
"""That of the year 9999."""

NUMBERS = {
    "digits": [*range(10), None],
    # Few bits each, so that sums are exact in any order.
    "floats": [math.nan, math.inf, -math.inf, -0.0, 0.0, 0.25, -1.5, 1e6, None],
    "decimals": [Decimal("0.10"), Decimal("-0.1"), Decimal("12.345"), Decimal(3), None],
}
"""Values that one can compute with, some of them awkward."""

LARGE = {
    "integers": [2**63 - 1, -(2**63), 2**62, 1, -1, None],
    "decimals": [Decimal("6E+37"), Decimal("-6E+37"), Decimal(1), None],
}
"""Numbers whose sums their types may not hold."""

OTHERS = {
    "texts": ["", "a", "A", "\0", "é", "e\u0301", "ß", "日本", "😀", None],
    "booleans": [True, False, None],
    "bytes": [b"", b"\0", b"a", b"\xff", None],
    "dates": [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), None],
    "times": [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(2024, 1, 1, tzinfo=UTC)],
    "lists": [[], [1], [1, None], [None], [1, 2], None],
    "structs": [
        {"a": a, "b": {"c": c}} for a in (1, None) for c in ([math.nan], [-0.0, 1.5], None)
    ],
}
"""Values that only have an order."""


def windows(kinds=("fixed", "sliding", "session", "global")):
    """A kind of windows; few enough seconds that elements meet in them."""
    size = st.integers(1, 20)
    offset = st.integers(-5, 5)
    made = {
        "fixed": st.builds(ms.fixed, size, offset),
        "sliding": st.builds(ms.sliding, size, st.integers(1, 8), offset),
        "session": st.builds(ms.session, size, st.booleans()),
        "global": st.builds(ms.global_window),
        "calendar": st.sampled_from(["day", "week"]).map(
            lambda unit: ms.calendar(unit, timezone="Pacific/Apia")
        ),
        "clock": st.deferred(lambda: windows(("fixed", "sliding", "session"))).map(
            ms.processing_time
        ),
        "delta": st.builds(ms.delta_window, st.just("value"), st.integers(1, 6), flushes()),
        "marked": st.builds(
            ms.punctuated_window, st.sampled_from(["value > 5", "value IS NULL"]), flushes()
        ),
        "count": st.builds(ms.count_window, st.integers(1, 4), st.integers(1, 5), flushes()),
    }
    return st.one_of(*(made[kind] for kind in kinds))


def flushes():
    """When windows that are not complete end."""
    return st.sampled_from(["end", "end", 1, 5])


def triggers(depth=3, watermark=True):
    """Any trigger, nested up to ``depth``; it may finish and so drop data.

    Windows that the ``watermark`` does not end have no triggers that wait for it.
    """
    leaf = st.one_of(
        st.builds(ms.after_count, st.integers(1, 4)),
        st.builds(ms.after_delay, st.integers(1, 10)),
        st.builds(ms.every, st.integers(1, 10), st.integers(0, 3)),
        st.builds(ms.at_watermark) if watermark else st.nothing(),
        st.builds(ms.never),
    )
    if depth <= 1:
        return leaf
    part = triggers(depth - 1, watermark)
    parts = st.lists(part, min_size=1, max_size=3)
    at_watermark = st.builds(ms.at_watermark, st.none() | part, st.none() | part)
    at_watermark = at_watermark if watermark else st.nothing()
    return st.one_of(
        leaf,
        at_watermark,
        at_watermark,
        st.builds(ms.repeatedly, part),
        parts.map(lambda ts: ms.first_of(*ts)),
        parts.map(lambda ts: ms.all_of(*ts)),
        parts.map(lambda ts: ms.in_order(*ts)),
        st.builds(lambda main, until: main.or_finally(until), part, part),
    )


def safe_triggers(watermark=True):
    """Triggers that never finish, so that no element within the lateness is dropped."""
    at_watermark = st.builds(ms.at_watermark, st.none() | triggers(2), triggers(2))
    return st.one_of(
        st.none(),
        st.builds(ms.repeatedly, triggers(2, watermark)),
        at_watermark if watermark else st.nothing(),
        st.builds(ms.never),
    )


def waiting_triggers():
    """Triggers that do nothing before the end of a window, nor by the clock."""
    late = st.one_of(
        st.none(),
        st.builds(ms.after_count, st.integers(1, 4)),
        st.builds(ms.repeatedly, st.builds(ms.after_count, st.integers(1, 4))),
    )
    at_watermark = st.builds(lambda part: ms.at_watermark(late=part), late)
    return st.one_of(
        st.none(),
        at_watermark,
        st.builds(ms.repeatedly, at_watermark),
        st.builds(ms.never),
        st.builds(lambda count: ms.all_of(ms.after_count(count), ms.at_watermark()), st.just(3)),
        st.builds(lambda part: ms.in_order(ms.at_watermark(), ms.repeatedly(part)), at_watermark),
    )


def steps(max_size=14, values=range(10), start=-20):
    """Bundles around the watermark, which moves on with the clock, and the end of the input.

    Times are drawn relative to the watermark, so that much is late, and sessions meet across it.
    """
    element = st.tuples(st.sampled_from(KEYS), st.sampled_from(values), st.integers(-14, 14))
    bundle = st.lists(element, min_size=1, max_size=4)
    move = st.integers(1, 12)
    script = st.lists(
        st.one_of(bundle, bundle, st.tuples(st.sampled_from("WP"), move)), max_size=max_size
    )
    return script.map(lambda drawn: _with_running_times(drawn, start))


def _with_running_times(script, start):
    watermark, clock, made = start, 0, []
    for step in script:
        if isinstance(step, list):
            made.append(Elements((k, v, min(watermark + d, LAST_SECOND)) for k, v, d in step))
        elif step[0] == "W":
            watermark = min(watermark + step[1], LAST_SECOND)
            made.append(Watermark(watermark))
        else:
            clock += step[1]
            made.append(ProcessingTime(clock))
    return [*made, Watermark.end()]


def refinements():
    """How panes relate."""
    return st.sampled_from([ms.discarding, ms.accumulating, ms.retracting])


def settings_of_windows(lateness=12):
    """The options of window()."""
    return st.fixed_dictionaries(
        {
            "allowed_lateness": st.integers(0, lateness),
            "on_time": st.sampled_from(["always", "if_changed"]),
            "closing": st.sampled_from(["always", "if_changed"]),
            "timestamp": st.sampled_from(["end", "earliest", "latest"]),
        }
    )
