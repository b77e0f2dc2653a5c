"""A job in a notebook."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import millstream as ms
from millstream.jobs.html import job_as_html
from millstream.reports.tracker import Tracker


def test_a_job_in_a_notebook_shows_its_state_and_counts_above_the_picture_of_its_program():
    rows = ms.from_rows([(1,), (2,), (3,)], schema="n int", name="numbers")
    job = rows.collect("all <&>").run("sizes")
    page = job._repr_html_()
    above, picture = page[: page.index("<svg")], page[page.index("<svg") :]
    shown = " ".join(ElementTree.fromstring(f"<page>{above}</page>").itertext())
    assert shown.split()[:2] == ["sizes", "finished"]
    assert "3 to all <&>" in shown
    assert "numbers" in "".join(ElementTree.fromstring(picture).itertext())
    assert not hasattr(job, "_repr_svg_")  # a notebook would show only one of them


def test_a_failed_job_shows_its_error_in_a_notebook():
    tracker = Tracker()
    tracker.fail("MS201 in step 'parse': <lambda> failed")
    page = job_as_html("totals", tracker.progress(), "<svg/>")
    shown = " ".join(ElementTree.fromstring(f"<page>{page}</page>").itertext())
    assert "totals failed MS201 in step 'parse': <lambda> failed" in " ".join(shown.split())
