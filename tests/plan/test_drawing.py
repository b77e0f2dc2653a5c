"""The plan as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

import millstream as ms
from millstream.plan.nodes import walk

SVG = "{http://www.w3.org/2000/svg}"
ROWS = ms.from_rows([], schema="n int, at timestamp", event_time="at", name="a <b> & 'c'")
TOTALS = ROWS.filter("n < 1 AND n > 0").key_by("n").window(ms.fixed("1m")).group().named("totals")
PIPELINE = ms.pipeline(
    TOTALS.collect("kept"), TOTALS.late.collect("late"), ROWS.union(ROWS.filter("n > 9")).collect()
)


def drawn(pipeline: ms.Pipeline) -> ElementTree.Element:
    return ElementTree.fromstring(pipeline._repr_svg_())


def test_it_is_valid_xml_whatever_names_and_expressions_hold() -> None:
    texts = [text.text for text in drawn(PIPELINE).iter(f"{SVG}text")]
    assert "rows \"a <b> & 'c'\"" in texts
    assert "keeps  n < 1 AND n > 0" in texts


def test_there_is_a_box_for_each_step_and_an_arrow_for_each_input() -> None:
    picture, nodes = drawn(PIPELINE), list(walk(*PIPELINE.sinks))
    arrows = [path for path in picture.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(list(picture.iter(f"{SVG}rect"))) == len(nodes)
    assert len(arrows) == sum(len(node.inputs) for node in nodes)


def test_no_two_boxes_overlap_and_all_are_inside_the_picture() -> None:
    picture = drawn(PIPELINE)
    left, top, width, height = map(float, picture.attrib["viewBox"].split())
    boxes = [
        tuple(float(rect.attrib[side]) for side in ("x", "y", "width", "height"))
        for rect in picture.iter(f"{SVG}rect")
    ]
    for n, (x, y, w, h) in enumerate(boxes):
        assert left <= x < x + w <= left + width
        assert top <= y < y + h <= top + height
        for x2, y2, w2, h2 in boxes[:n]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_every_text_lies_within_its_box() -> None:
    rects = list(drawn(PIPELINE).iter(f"{SVG}rect"))
    for text in drawn(PIPELINE).iter(f"{SVG}text"):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        assert any(
            0 < x - float(r.attrib["x"]) < float(r.attrib["width"])
            and 0 < y - float(r.attrib["y"]) < float(r.attrib["height"])
            for r in rects
        )


def test_a_grouping_shows_the_four_answers() -> None:
    texts = [text.text or "" for text in drawn(PIPELINE).iter(f"{SVG}text")]
    assert {"key    n", "what   values = collect()", "where  fixed('1m')"} <= set(texts)


def test_long_lines_are_cut() -> None:
    long = ROWS.select(" + ".join(["n"] * 100) + " AS total").collect()
    assert all(len(text.text or "") <= 72 for text in drawn(long).iter(f"{SVG}text"))


def test_nothing_is_fetched_from_a_network() -> None:
    svg = PIPELINE._repr_svg_().replace("http://www.w3.org/2000/svg", "")
    assert "http" not in svg
    assert "<script" not in svg


def test_a_stream_draws_itself_too() -> None:
    assert len(list(ElementTree.fromstring(TOTALS._repr_svg_()).iter(f"{SVG}rect"))) == 4


def test_sources_and_sinks_show_their_paths() -> None:
    copied = ms.read_files("/in", format="text").write_files("/out", format="text")
    texts = [text.text or "" for text in drawn(copied).iter(f"{SVG}text")]
    assert "reads  text files in /in, as they are added" in texts
    assert "writes  text files to /out" in texts
