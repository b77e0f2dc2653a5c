"""How the picture is written: SVG elements, colours and the font.

Nothing here has an ``id`` or a style sheet, so that several pictures can be on one page.
"""

from __future__ import annotations

import re
from html import escape

PAPER = "#ffffff"
PLOT = "#fafbfc"
GRID = "#e6e9ee"
AXIS = "#9aa3b0"
MUTED = "#5b6472"
TEXT = "#1f2733"
WATERMARK = "#a8276b"
STRIKE = "#b3362b"
IDEAL = "#8a93a1"
FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"

TIMINGS = {
    "EARLY": ("#2f7fd0", "#1c568f"),
    "ON_TIME": ("#12936f", "#0a5f48"),
    "LATE": ("#e07b1a", "#94480a"),
}
"""The colour of a pane's lid and box, and the darker one of its value.
Blue, green and orange of one lightness apart stay distinct to colour-blind readers."""

KEYS = ("#3d3a8c", "#7a1f4a", "#5f5a14", "#0f5a66", "#6d3f9c", "#6e4420")
"""The colours of elements by key: dark, for white text, and none of a pane's colours."""
ONE_KEY = "#39424f"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Attribute = str | float | None


def tag(name: str, content: str = "", **attributes: Attribute) -> str:
    """One SVG element; ``_`` in a name is ``-``, a final one is dropped, None is left out.

    >>> tag("line", x1=0.0, x2=12.346, stroke_width=2, class_="tick")
    '<line x1="0" x2="12.35" stroke-width="2" class="tick"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(words: str, x: float, y: float, size: float, **attributes: Attribute) -> str:
    """A line of text whose baseline starts, or is anchored, at x and y."""
    attributes = {"fill": TEXT, **attributes}
    return tag("text", escaped(words), x=x, y=y, font_size=size, **attributes)


def hint(words: str) -> str:
    """What a browser shows when the mouse rests on the element around it."""
    return tag("title", escaped(words))


def escaped(words: str) -> str:
    r"""The text with XML's special characters escaped and impossible ones replaced.

    >>> escaped('a < b & "c"'), escaped("bell \x07")
    ('a &lt; b &amp; &quot;c&quot;', 'bell �')
    """
    return escape(_NOT_XML.sub("\ufffd", words))


def number(value: float) -> str:
    """A coordinate in hundredths of a pixel, as short as it can be."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _attribute(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else number(value)
