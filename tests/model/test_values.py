"""Windows, triggers and aggregates as values: comparable, hashable, printed as they are written."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import CODES, PlanError
from millstream.model.triggers import DEFAULT_TRIGGER

VALUES = [
    "fixed('2m')",
    "fixed('1h', offset='15m')",
    "sliding('1h', '5m', offset='1m')",
    "session('30m')",
    "session('30m', touching=True)",
    "global_window()",
    "calendar('month', timezone='Europe/Paris')",
    "at_watermark()",
    "at_watermark(early=every('1m', offset='5s'), late=after_count(1))",
    "repeatedly(first_of(after_count(100), after_delay('1m500ms')))",
    "all_of(after_count(2), never())",
    "in_order(after_count(1), repeatedly(after_count(10)))",
    "repeatedly(after_count(10)).or_finally(at_watermark())",
    "bounded('30s', idle='1m')",
    "ascending()",
    "punctuated('mark')",
]


@pytest.mark.parametrize("text", VALUES)
def test_a_value_prints_as_it_is_written_and_equals_its_twin(text):
    names = {name: getattr(ms, name) for name in ms.__all__}
    value, twin = eval(text, names), eval(text, names)
    assert repr(value) == text
    assert value == twin
    assert hash(value) == hash(twin)
    with pytest.raises((AttributeError, TypeError)):
        value.anything = 1


def test_the_default_trigger_is_the_watermark_repeatedly():
    assert ms.repeatedly(ms.at_watermark()) == DEFAULT_TRIGGER


def test_offsets_are_reduced_to_one_period():
    assert ms.fixed(10, offset=13) == ms.fixed(10, offset=3) == ms.fixed(10, offset=-7)
    assert ms.every(10, offset=-1) == ms.every(10, offset=9)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: ms.fixed(0), "MS101"),
        (lambda: ms.fixed("soon"), "MS101"),
        (lambda: ms.sliding(10, 0), "MS101"),
        (lambda: ms.session(-1), "MS101"),
        (lambda: ms.after_delay(0), "MS101"),
        (lambda: ms.every(0), "MS101"),
        (lambda: ms.calendar("fortnight"), "MS114"),
        (lambda: ms.calendar("day", timezone="Europe/Atlantis"), "MS114"),
        (lambda: ms.calendar("day", timezone="../etc/passwd"), "MS114"),
        (lambda: ms.after_count(0), "MS113"),
        (lambda: ms.after_count(1.5), "MS113"),
        (lambda: ms.after_count(True), "MS113"),
        (lambda: ms.repeatedly("often"), "MS113"),
        (lambda: ms.first_of(), "MS113"),
        (lambda: ms.at_watermark(early=5), "MS113"),
        (lambda: ms.never().or_finally(None), "MS113"),
        (lambda: ms.top(0, by="x"), "MS113"),
        (lambda: ms.quantile("x", 1.5), "MS113"),
        (lambda: ms.combine(create=1, add=max, extract=str, returns="int"), "MS113"),
        (lambda: ms.bounded("-1s"), "MS101"),
        (lambda: ms.bounded(0, idle=0), "MS101"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(make, code):
    with pytest.raises(PlanError, match=code) as caught:
        make()
    assert caught.value.fix


def test_errors_survive_pickling_and_know_their_page():
    import pickle

    error = PlanError("MS108", "twice", fix="rename", step="totals")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, copy.what, copy.fix, copy.step) == ("MS108", "twice", "rename", "totals")
    assert str(copy) == str(error)
    assert "More: millstream help MS108" in str(error)
    assert "MS108" in CODES
