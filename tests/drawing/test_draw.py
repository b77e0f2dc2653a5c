"""The picture: what is where, read from the SVG."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from millstream.drawing.draw import Drawing, draw
from millstream.drawing.frame import Rect
from millstream.drawing.words import wide
from millstream.model.panes import Kind, LateElement, Pane, Timing
from millstream.model.script import Elements, ProcessingTime, Step, Watermark

NOON = 43_200
SVG = "{http://www.w3.org/2000/svg}"
TIMINGS: dict[str, Timing] = {"EARLY": "EARLY", "ON_TIME": "ON_TIME", "LATE": "LATE"}
MINUS = "\N{MINUS SIGN}"


def at(clock: str) -> float:
    minutes, seconds = clock.split(":")
    return NOON + 60 * int(minutes) + float(seconds)


ARRIVALS = """
    04:59 5@00:26
    05:39 7@02:24
    06:00 W02:00
    06:13 3@03:39
    06:39 4@04:19
    07:06 8@03:06
    07:19 3@06:39
    07:30 W04:00
    07:40 W06:00
    08:19 9@01:25
    08:39 8@07:26
    09:00 1@07:46
    09:30 W08:30
    10:00 W
"""


class Script:
    """The nine elements of Streaming 102, and hand-written panes by the time they came out."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.index: dict[str, int] = {}
        for clock, what in (line.split() for line in ARRIVALS.strip().splitlines()):
            self.steps += [ProcessingTime(at(clock)), self._step(what)]
            self.index[clock] = len(self.steps) - 1

    @staticmethod
    def _step(what: str) -> Step:
        if what.startswith("W"):
            return Watermark(at(what[1:])) if what[1:] else Watermark.end()
        value, event = what.split("@")
        return Elements([("k", int(value), at(event))])

    def panes(self, text: str) -> list[Pane]:
        """Lines of: clock, window's start and end, timing, value (negative: taken back)."""
        panes: list[Pane] = []
        for line in text.strip().splitlines():
            clock, start, end, timing, value = line.split()
            window = (at(start), at(end))
            index = sum(pane.window == window and pane.kind == "+" for pane in panes)
            kind: Kind = "-" if value.startswith("-") else "+"
            panes.append(
                Pane("k", window, abs(int(value)), TIMINGS[timing], index, index == 0, False, kind,
                     self.index[clock])
            )  # fmt: skip
        return panes


NINE = Script()
FIXED = NINE.panes("""
    05:39 00:00 02:00 EARLY 5
    06:00 00:00 02:00 ON_TIME 5
    06:39 02:00 04:00 EARLY 10
    07:30 02:00 04:00 ON_TIME 18
    07:30 04:00 06:00 EARLY 4
    07:40 04:00 06:00 ON_TIME 4
    08:19 00:00 02:00 LATE 14
    08:39 06:00 08:00 EARLY 3
    09:30 06:00 08:00 ON_TIME 12
""")
SESSIONS = NINE.panes("""
    05:39 00:26 01:26 EARLY 5
    06:39 02:24 03:24 EARLY 7
    07:30 02:24 03:24 EARLY -7
    07:30 02:24 05:19 EARLY 22
    08:19 00:26 01:26 LATE -5
    08:19 02:24 05:19 LATE -22
    08:19 00:26 05:19 LATE 36
    08:39 06:39 07:39 EARLY 3
    09:30 06:39 07:39 EARLY -3
    09:30 06:39 08:46 EARLY 12
""")
SLIDING = [
    Pane("k", (NOON + 60.0 * n, NOON + 60.0 * n + 120), n, "EARLY", 0, True, False, "+",
         NINE.index["09:00"])
    for n in range(7)
]  # fmt: skip


class Picture:
    """An SVG, and questions about it."""

    def __init__(self, drawing: Drawing) -> None:
        self.root = ElementTree.fromstring(drawing.svg)

    def find(self, name: str) -> list[ElementTree.Element]:
        """All elements of a class, outside the legend."""
        legend = {node for group in self._named("legend") for node in group.iter()}
        return [node for node in self._named(name) if node not in legend]

    def _named(self, name: str) -> list[ElementTree.Element]:
        return [node for node in self.root.iter() if name in node.get("class", "").split()]

    def texts(self) -> list[str]:
        return [node.text or "" for node in self.root.iter(f"{SVG}text")]

    def words(self, name: str) -> list[str]:
        return [node.text or "" for node in self.find(name)]

    def legend(self) -> list[str]:
        return [
            texts[-1].text or ""
            for g in self._named("legend")
            if (texts := g.findall(f"{SVG}text"))
        ]

    def hints(self, name: str) -> list[str]:
        return [node.findtext(f"{SVG}title") or "" for node in self.find(name)]

    def boxes(self) -> dict[str, Rect]:
        """Each pane's box by the words that a browser shows for it."""
        return {
            node.findtext(f"{SVG}title") or "": bounds(path.get("d", ""))
            for node in self.find("pane")
            for path in node.findall(f"{SVG}path")
            if path.get("class") == "box"
        }

    def box(self, start: str) -> Rect:
        (found,) = [rect for words, rect in self.boxes().items() if words.startswith(start)]
        return found

    def event_time(self, x: float) -> float:
        """The event time at x, read off the first and last label of the axis."""
        marks = [
            (float(node.get("x", "")), _seconds(node.text or ""))
            for node in self.find("event-time")
        ]
        (x1, t1), (x2, t2) = marks[0], marks[-1]
        return t1 + (x - x1) / (x2 - x1) * (t2 - t1)

    def processing_time(self, y: float) -> float:
        marks = [
            (float(node.get("y", "")) - 4, _seconds(node.text or ""))
            for node in self.find("processing-time")
        ]
        (y1, t1), (y2, t2) = marks[0], marks[-1]
        return t1 + (y - y1) / (y2 - y1) * (t2 - t1)


def bounds(path: str) -> Rect:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    xs, ys = numbers[::2], numbers[1::2]
    return Rect(min(xs), min(ys), max(xs), max(ys))


def around(node: ElementTree.Element, *, bold: bool = True) -> Rect:
    """The approximate place of a text that is anchored in its middle."""
    x, y, size = (float(node.get(name, "")) for name in ("x", "y", "font-size"))
    half = wide(node.text or "", size, bold=bold) / 2
    return Rect(x - half, y - 0.75 * size, x + half, y)


def _seconds(label: str) -> float:
    parts = [float(part.replace(",", "")) for part in label.split(":")]
    if len(parts) == 1:
        return parts[0]
    return sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))


def test_a_box_spans_its_window_from_the_pane_before_to_its_own_moment() -> None:
    picture = Picture(draw(FIXED, NINE.steps))
    box = picture.box("[12:02:00, 12:04:00) = 18")
    assert picture.event_time(box.left) == pytest.approx(at("02:00"), abs=1)
    assert picture.event_time(box.right) == pytest.approx(at("04:00"), abs=1)
    assert picture.processing_time(box.top) == pytest.approx(at("07:30"), abs=1)
    assert picture.processing_time(box.bottom) == pytest.approx(at("06:39"), abs=1)


def test_the_first_box_of_a_window_holds_its_first_element() -> None:
    picture = Picture(draw(FIXED, NINE.steps))
    box = picture.box("[12:02:00, 12:04:00) = 10")
    assert at("05:25") < picture.processing_time(box.bottom) < at("05:39")


def test_an_element_is_at_its_event_time_and_arrival() -> None:
    picture = Picture(draw(FIXED, NINE.steps))
    places = {
        hint: circle
        for hint, node in zip(picture.hints("element"), picture.find("element"), strict=True)
        if (circle := node.find(f"{SVG}circle")) is not None
    }
    nine = places["9 at 12:01:25"]
    assert len(places) == 9
    assert picture.event_time(float(nine.get("cx", ""))) == pytest.approx(at("01:25"), abs=1)
    assert picture.processing_time(float(nine.get("cy", ""))) == pytest.approx(at("08:19"), abs=1)


def test_the_legend_names_what_is_drawn_and_nothing_else() -> None:
    assert Picture(draw(FIXED, NINE.steps)).legend() == [
        "element", "early pane", "on-time pane", "late pane", "watermark",
        "ideal watermark",
    ]  # fmt: skip
    on_time = [pane for pane in FIXED if pane.timing == "ON_TIME"]
    no_watermark = [step for step in NINE.steps if not isinstance(step, Watermark)]
    legend = Picture(draw(on_time, no_watermark)).legend()
    assert legend == ["element", "on-time pane", "ideal watermark"]


def test_the_timings_differ_in_colour() -> None:
    picture = Picture(draw(FIXED, NINE.steps))
    colours = {
        timing: {path.get("fill") for node in picture.find(timing) for path in node[1:2]}
        for timing in ("early", "on-time", "late")
    }
    assert all(len(fills) == 1 for fills in colours.values())
    assert len(set.union(*colours.values())) == 3


@pytest.mark.parametrize("panes", [FIXED, SESSIONS, SLIDING])
def test_every_value_is_in_its_box_and_on_nothing_else(panes: list[Pane]) -> None:
    picture = Picture(draw(panes, NINE.steps))
    boxes = picture.boxes()
    values = {id(node): around(node) for node in picture.find("value")}
    assert [node.text for node in picture.find("value")] == [
        str(pane.values) for pane in panes if pane.kind == "+"
    ]
    for rect, value in zip(boxes.values(), values.values(), strict=True):
        assert rect.left <= value.left
        assert value.right <= rect.right
        assert rect.top <= value.top
        assert value.bottom <= rect.bottom
    circles = [
        Rect(*(float(circle.get(c, "")) + sign * 8 for c, sign in
               (("cx", -1), ("cy", -1), ("cx", 1), ("cy", 1))))
        for node in picture.find("element")
        for circle in node.iter(f"{SVG}circle")
    ]  # fmt: skip
    for one, other in combinations([*values.values()], 2):
        assert not one.overlap(other)
    for one in values.values():
        assert not any(one.overlap(circle) for circle in circles)


def test_a_retraction_is_struck_through_beside_the_new_value() -> None:
    picture = Picture(draw(SESSIONS, NINE.steps))
    assert picture.words("retraction") == [f"{MINUS}7", f"{MINUS}5", f"{MINUS}22", f"{MINUS}3"]
    box, below = (
        picture.box(f"[{window}) = ") for window in ("12:00:26, 12:05:19", "12:02:24, 12:05:19")
    )
    strikes = [
        Rect(*(float(line.get(name, "")) for name in ("x1", "y2", "x2", "y1")))
        for line in picture.find("strike")
    ]
    for node, strike in zip(picture.find("retraction"), strikes, strict=True):
        x = float(node.get("x", ""))
        assert strike.left < x < strike.right
        assert strike.top < float(node.get("y", "")) - 4 < strike.bottom
    taken = [around(node, bold=False) for node in picture.find("retraction")]
    inside = [rect for rect in taken if box.top < rect.top and rect.bottom < below.top]
    assert len(inside) == 2
    assert all(box.left < rect.left and rect.right < box.right for rect in inside)
    assert "retracted" in picture.legend()


def test_a_retraction_without_a_new_value_is_still_shown() -> None:
    alone = [Pane("k", (0.0, 10.0), 4, "EARLY", 0, True, False, "-", 1)]
    picture = Picture(draw(alone, [Elements([("k", 4, 1.0)]), Watermark(5)]))
    assert picture.words("retraction") == [f"{MINUS}4"]
    assert picture.find("value") == []


def test_a_retraction_that_finds_no_room_is_counted() -> None:
    panes = [
        Pane("k", (float(n), n + 1.0), "many words", "EARLY", 0, True, True, "-", 0)
        for n in range(300)
    ]
    picture = Picture(draw(panes, []))
    assert picture.find("retraction") == []
    assert any(note.startswith("300 values are not shown") for note in picture.words("note"))


def test_a_session_begins_on_those_that_it_was_merged_from() -> None:
    picture = Picture(draw(SESSIONS, NINE.steps))
    merged = picture.box("[12:00:26, 12:05:19) = 36")
    first = picture.box("[12:00:26, 12:01:26) = 5")
    second = picture.box("[12:02:24, 12:05:19) = 22")
    assert merged.left == first.left
    assert merged.right == second.right
    assert merged.bottom == first.top
    path = next(
        node[1].get("d", "") for node in picture.find("late") if "= 36" in (node[0].text or "")
    )
    assert f"{second.top:.2f}".rstrip("0").rstrip(".") in path


def test_overlapping_windows_get_bars_that_do_not_overlap() -> None:
    picture = Picture(draw(SLIDING, NINE.steps))
    bars = list(picture.boxes().values())
    assert len(bars) == len(SLIDING)
    assert not any(one.overlap(other) for one, other in combinations(bars, 2))
    for bar, pane in zip(bars, SLIDING, strict=True):
        assert picture.event_time(bar.left) == pytest.approx(pane.window[0], abs=2)
        assert picture.event_time(bar.right) == pytest.approx(pane.window[1], abs=2)


def test_the_global_window_is_open_at_both_edges() -> None:
    everything = (-math.inf, math.inf)
    pane = Pane("k", everything, 48, "ON_TIME", 0, True, True, "+", NINE.index["10:00"])
    picture = Picture(draw([pane], NINE.steps))
    box, plot = picture.box(f"[{MINUS}∞, ∞) = 48"), picture.find("plot")[0]
    assert box.left == float(plot.get("x", ""))
    assert box.width == pytest.approx(float(plot.get("width", "")))
    assert len(picture.find("open-edge")) == 2


def test_the_watermark_only_goes_right_and_up_and_out_to_infinity() -> None:
    picture = Picture(draw(FIXED, NINE.steps))
    (curve,) = picture.find("curve")
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", curve.get("d", ""))]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    assert all(x1 <= x2 and y1 >= y2 for (x1, y1), (x2, y2) in pairwise(points))
    corners = [(at("02:00"), at("06:00")), (at("04:00"), at("07:30")), (at("06:00"), at("07:40"))]
    read = [(picture.event_time(x), picture.processing_time(y)) for x, y in points]
    for corner in corners:
        assert min(math.dist(corner, point) for point in read) < 2
    assert "∞" in picture.texts()
    assert len(picture.find("arrow")) == 1


def test_a_watermark_far_beyond_the_windows_leaves_with_its_time() -> None:
    steps: list[Step] = [Elements([("k", 1, 3.0)]), Watermark(50_000)]
    pane = Pane("k", (0.0, 10.0), 1, "ON_TIME", 0, True, True, "+", 1)
    picture = Picture(draw([pane], steps))
    assert "50,000" in picture.texts()
    assert picture.words("event-time")[-1] == "10"


def test_each_source_has_a_watermark_of_its_own() -> None:
    steps: list[Step] = [Watermark(3, "clicks"), Watermark(5, "views"), Watermark(9, "clicks")]
    picture = Picture(draw([], steps))
    assert picture.legend() == ["watermark clicks", "watermark views"]
    assert len(picture.find("curve")) == 2


def test_without_a_clock_the_steps_are_counted() -> None:
    steps: list[Step] = [Elements([("k", n, float(n))]) for n in range(4)]
    panes = [Pane("k", (0.0, 10.0), n, "EARLY", n, n == 0, False, "+", n) for n in range(4)]
    picture = Picture(draw(panes, steps))
    assert picture.words("processing-time") == ["0", "1", "2", "3"]
    assert "step →" in picture.texts()
    tops = [rect.top for rect in picture.boxes().values()]
    assert tops == sorted(tops, reverse=True)
    assert picture.find("ideal") == []


def test_a_clock_that_does_not_move_between_panes_is_shown_at_the_steps() -> None:
    steps: list[Step] = [ProcessingTime(60), Elements([("k", 1, 1.0)]), Elements([("k", 2, 2.0)])]
    panes = [Pane("k", (0.0, 10.0), n, "EARLY", n - 1, n == 1, False, "+", n) for n in (1, 2)]
    picture = Picture(draw(panes, steps))
    assert "step →" in picture.texts()
    assert picture.words("clock") == ["clock 60"]


def test_elements_before_the_first_reading_of_a_real_clock_are_at_the_lower_edge() -> None:
    steps: list[Step] = [
        Elements([("k", 1, 1.7e9)]),
        ProcessingTime(1.7e9 + 60),
        ProcessingTime(1.7e9 + 120),
        Elements([("k", 2, 1.7e9 + 50)]),
    ]
    picture = Picture(draw([], steps))
    first, second = (float(c.get("cy", "")) for n in picture.find("element") for c in n[1:2])
    plot = picture.find("plot")[0]
    bottom = float(plot.get("y", "")) + float(plot.get("height", ""))
    assert bottom - 60 < first < bottom
    assert second < first - 100


class Late(list[Pane]):
    """Panes as ``replay`` gives them."""

    def __init__(self, panes: list[Pane], late: list[LateElement]) -> None:
        super().__init__(panes)
        self.late = late


def test_a_dropped_element_is_hollow_and_crossed() -> None:
    window = (at("00:00"), at("02:00"))
    late = LateElement("k", 9, at("01:25"), window, "expired", NINE.index["08:19"])
    picture = Picture(draw(Late(FIXED[:2], [late]), NINE.steps))
    (dropped,) = picture.find("dropped")
    assert dropped.findtext(f"{SVG}title") == "9 at 12:01:25, dropped: expired"
    circle, line = dropped.find(f"{SVG}circle"), dropped.find(f"{SVG}line")
    assert circle is not None
    assert circle.get("fill") == "#ffffff"
    assert line is not None
    assert len(picture.find("element")) == 9
    assert "dropped element" in picture.legend()


def test_rows_of_a_pipeline_are_not_drawn_but_their_panes_are() -> None:
    steps: list[Step] = [
        ProcessingTime(5),
        Elements([{"user": "ann", "at": 3}]),
        ProcessingTime(10),
        Watermark(10),
    ]
    pane = Pane(None, (0.0, 10.0), {"total": 5}, "ON_TIME", 0, True, True, "+", 3)
    late = LateElement(None, {"user": "bob"}, 2.0, None, "no window", 3)
    picture = Picture(draw(Late([pane], [late]), steps))
    assert picture.words("value") == ["total 5"]
    assert picture.hints("element") == ["user bob at 2, dropped: no window"]


def test_special_characters_are_kept() -> None:
    value, key = '<b>&"q"]]>', "ключ <1> & \x00\ud800"
    steps: list[Step] = [Elements([(key, value, 1.0), ("other", 1, 2.0)])]
    pane = Pane(key, (0.0, 10.0), (value,), "EARLY", 0, True, False, "+", 0)
    picture = Picture(draw([pane], steps, title="a < b & c", subtitle='"d"'))
    assert picture.words("value") == [value]
    assert picture.words("key")[0] == "ключ <1> & ��"
    assert {"a < b & c", '"d"'} <= set(picture.texts())


@pytest.mark.parametrize(
    ("value", "text"),
    [((1, 2), "1, 2"), ([3], "3"), (None, "None"), (2.5, "2.5"), (0.1 + 0.2, "0.3"), ((), "∅"),
     ("two\nlines", "two lines"), (True, "True"), ({"a": 1}, "a 1"), (-4, "-4")],
)  # fmt: skip
def test_values_of_all_kinds_are_written(value: object, text: str) -> None:
    pane = Pane("k", (0.0, 10.0), value, "EARLY", 0, True, False, "+", 0)
    assert Picture(draw([pane], [])).words("value") == [text]


def test_a_long_value_is_cut_and_shown_in_full_to_the_mouse() -> None:
    windows = [(10.0 * n, 10.0 * n + 10) for n in range(5)]
    panes = [Pane("k", w, tuple(range(100, 130)), "EARLY", 0, True, True, "+", 0) for w in windows]
    picture = Picture(draw(panes, []))
    assert len(picture.find("value")) == 5
    for word in picture.words("value"):
        assert word.startswith("100, 101")
        assert word.endswith("…")
    assert "100, 101, 102, 103, 104, 105, 106, 107, 108, 109" in picture.hints("pane")[0]


def test_a_number_is_never_cut() -> None:
    panes = [
        Pane("k", (float(n), n + 1.0), 123_456_789, "EARLY", 0, True, True, "+", 0)
        for n in range(60)
    ]
    picture = Picture(draw(panes, []))
    assert set(picture.words("value")) <= {"123456789"}
    missing = 60 - len(picture.find("value"))
    assert missing > 0
    assert any(note.startswith(f"{missing} values are not shown") for note in picture.words("note"))


def test_each_key_has_a_panel_and_too_many_are_counted() -> None:
    steps: list[Step] = [Elements([(f"key {n}", n, float(n)) for n in range(9)])]
    picture = Picture(draw([], steps))
    assert picture.words("key") == [f"key {n}" for n in range(6)]
    assert len(picture.find("panel")) == 6
    fills = [circle.get("fill") for node in picture.find("element") for circle in node[1:2]]
    assert len(set(fills)) == 6
    assert "6 of 9 keys are drawn, 3 are not." in picture.words("note")


def test_elements_of_one_bundle_do_not_hide_each_other() -> None:
    picture = Picture(draw([], [Elements([("k", n, 5.0) for n in range(3)])]))
    circles = [circle for node in picture.find("element") for circle in node[1:2]]
    heights = sorted(float(circle.get("cy", "")) for circle in circles)
    radius = float(circles[0].get("r", ""))
    assert all(lower - upper >= 2 * radius for upper, lower in pairwise(heights))


def test_what_is_far_away_is_in_a_gutter() -> None:
    steps: list[Step] = [Elements([("k", n, float(n)) for n in range(8)] + [("k", 99, 4.0e9)])]
    pane = Pane("k", (4.0e9, 4.0e9 + 10), 99, "EARLY", 0, True, True, "+", 0)
    picture = Picture(draw([pane], steps))
    (gutter,) = picture.find("gutter")
    left, width = float(gutter.get("x", "")), float(gutter.get("width", ""))
    box = picture.box("[4,000,000,000, 4,000,000,010) = 99")
    assert left <= box.left < box.right <= left + width
    assert picture.words("event-time")[-1] in {"7", "8"}


@pytest.mark.parametrize(
    ("start", "first", "unit"),
    [(0.0, "0", "event time (seconds) →"), (43_200.0, "12:00:00", "event time →"),
     (1_709_640_000.0, "12:00:00", "event time (2024-03-05, UTC) →")],
)  # fmt: skip
def test_event_times_are_written_as_what_they_seem_to_be(
    start: float, first: str, unit: str
) -> None:
    steps: list[Step] = [Elements([("k", n, start + 10 * n) for n in range(7)])]
    picture = Picture(draw([], steps))
    assert picture.words("event-time")[0] == first
    assert unit in picture.texts()


def test_an_empty_input_gives_a_picture_with_a_note() -> None:
    picture = Picture(draw([], []))
    assert picture.words("note") == ["Nothing to draw: there are no elements and no panes."]
    assert picture.find("plot") != []


def test_a_huge_input_is_thinned_with_a_note() -> None:
    steps: list[Step] = []
    panes = []
    for n in range(10_000):
        steps += [ProcessingTime(n + 1), Elements([("k", n, float(n))])]
        window = (n // 10 * 10.0, n // 10 * 10.0 + 10)
        panes.append(Pane("k", window, n, "EARLY", n % 10, n % 10 == 0, False, "+", 2 * n + 1))
    began = time.perf_counter()
    drawing = draw(panes, steps)
    assert time.perf_counter() - began < 10
    assert len(drawing.svg) < 2_000_000
    picture = Picture(drawing)
    drawn = len(picture.find("element")), len(picture.find("pane"))
    assert f"{drawn[0]:,} of 10,000 elements are drawn, {10_000 - drawn[0]:,} are not." in (
        picture.words("note")
    )
    assert f"{drawn[1]:,} of 10,000 panes are drawn, {10_000 - drawn[1]:,} are not." in (
        picture.words("note")
    )


def test_the_same_input_gives_the_same_bytes_in_every_process() -> None:
    program = (
        "import hashlib; from millstream.drawing.draw import draw;"
        "from millstream.model.script import *; from millstream.model.panes import Pane;"
        "steps = [Elements([(k, {'x', 'y', 'z'}, 1.0) for k in 'abc']), Watermark(10)];"
        "panes = [Pane(k, (0., 10.), {'p', 'q'}, 'ON_TIME', 0, True, True, '+', 1) for k in 'abc'];"
        "print(hashlib.sha256(draw(panes, steps).svg.encode()).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(runs) == 1
    assert draw(FIXED, NINE.steps) == draw(FIXED, NINE.steps)


def test_a_drawing_is_saved_and_shown_by_notebooks(tmp_path: Path) -> None:
    drawing = draw(FIXED, NINE.steps, title="Nine")
    path = drawing.save(tmp_path / "nine.svg")
    assert path.read_text(encoding="utf-8") == str(drawing) == drawing._repr_svg_() == drawing.svg
    assert ElementTree.parse(path).getroot().findtext(f"{SVG}title") == "Nine"


def test_several_drawings_can_be_on_one_page() -> None:
    svg = draw(SESSIONS, NINE.steps).svg
    assert " id=" not in svg
    assert "<style" not in svg
