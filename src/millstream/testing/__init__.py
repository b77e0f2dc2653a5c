"""Tests of users' own pipelines: scripts of steps, replayed on any engine."""

from millstream.drawing.draw import draw
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Elements, ProcessingTime, Watermark
from millstream.sources import test_stream
from millstream.testing.forms import check_forms
from millstream.testing.panes import Panes
from millstream.testing.replay import replay
from millstream.testing.transcripts import Transcript, load

__all__ = [
    "Elements",
    "LateElement",
    "Pane",
    "Panes",
    "ProcessingTime",
    "Transcript",
    "Watermark",
    "check_forms",
    "draw",
    "load",
    "replay",
    "test_stream",
]
