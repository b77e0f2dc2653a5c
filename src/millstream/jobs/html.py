"""A job in a notebook: its state, its counts, its error, and the picture of its program."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from millstream.model.amounts import rate_in_words
from millstream.reports.progress import Progress, State, size_in_words, watermark_in_words

_COLOURS: dict[State, str] = {"running": "#1a7f37", "finished": "#1a7f37", "failed": "#cf222e"}
_OTHER = "#9a6700"


def job_as_html(name: str, progress: Progress, picture: str) -> str:
    """The job as it is now; the picture is an SVG.

    >>> from millstream.reports.tracker import Tracker
    >>> tracker = Tracker()
    >>> tracker.fail("MS201 in step 'parse': no number")
    >>> page = job_as_html("totals", tracker.progress(), "<svg/>")
    >>> "<b>totals</b>" in page, "failed" in page, "no number" in page, page.endswith("<svg/>")
    (True, True, True, True)
    """
    colour = _COLOURS.get(progress.state, _OTHER)
    lines = [f'<div><b>{escape(name)}</b> <b style="color: {colour}">{progress.state}</b></div>']
    if progress.error:
        style = f"border-left: 3px solid {colour}; padding-left: 8px; white-space: pre-wrap"
        lines.append(f'<pre style="{style}">{escape(progress.error)}</pre>')
    cells = "".join(
        f'<tr><td style="text-align: left">{label}</td>'
        f'<td style="text-align: left">{escape(value)}</td></tr>'
        for label, value in _counts(progress)
    )
    return "\n".join([*lines, f"<table>{cells}</table>", picture])


def _counts(progress: Progress) -> Iterator[tuple[str, str]]:
    yield "batches", f"{progress.batches:,}"
    yield "rows", f"{progress.rows:,} ({rate_in_words(progress.rows_per_second)})"
    if progress.watermark is not None:
        yield "watermark", watermark_in_words(progress)
        yield "state", size_in_words(progress)
    yield "late", f"{progress.late:,}"
    yield "rejected", f"{progress.rejected:,}"
    if progress.lost:
        yield "lost", f"{progress.lost:,}"
    if progress.restarts:
        yield "restarts", f"{progress.restarts:,}"
    for sink, rows in progress.written.items():
        yield "written", f"{rows:,} to {sink}"
