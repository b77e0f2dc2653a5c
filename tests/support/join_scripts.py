"""Scripts of joins with the pairs that they must give, worked out by hand, for every engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import millstream as ms
from millstream.model.script import Elements, Step, Watermark
from millstream.testing import test_stream

ROWS, VERSIONS = "k string, v int, at double", "k string, p int, since double"


@dataclass(frozen=True)
class Script:
    """A temporal join of ``rows`` and ``versions``, what happens, and what it must give.

    Steps are rows ``(k, v, at)``, versions ``(k, p, since)``, or watermarks of both sides or of
    one. ``pairs`` are (step, k, v, p), and ``late`` are (side, v or p).
    """

    name: str
    how: dict[str, Any]
    steps: list[tuple[str, Any]]
    pairs: list[tuple[int, str | None, int, int | None]]
    late: list[tuple[str, int]] = field(default_factory=list)

    def stream(self, number: int = 0) -> ms.Stream:
        """The program, with sources of its own."""
        rows = test_stream(ROWS, event_time="at", name=f"rows {number}")
        versions = test_stream(VERSIONS, event_time="since", name=f"versions {number}")
        return rows.temporal_join(versions, on="k", **self.how)

    def script(self, number: int = 0) -> list[Step]:
        """What happens to them."""
        return [self._step(what, given, number) for what, given in self.steps]

    def _step(self, what: str, given: Any, number: int) -> Step:
        if what == "watermark":
            return Watermark.end() if given == "end" else Watermark(given)
        if what.startswith("watermark of "):
            return Watermark(given, source=f"{what.removeprefix('watermark of ')} {number}")
        names = ("k", "v", "at") if what == "rows" else ("k", "p", "since")
        items = [dict(zip(names, each, strict=True)) for each in given]
        return Elements(items, source=f"{what} {number}")

    def holds(self, made: Any) -> None:
        """Whether a replay gave what it must, in any order within a step."""
        pairs = [(row.step, row.values["k"], row.values["v"], row.values["p"]) for row in made]
        assert sorted(pairs, key=str) == sorted(self.pairs, key=str), self.name
        late = [
            (
                row.values["side"],
                row.values["v"] if row.values["side"] == "left" else row.values["p"],
            )
            for row in made.late
        ]
        assert sorted(late) == sorted(self.late), self.name


SCRIPTS = [
    Script(
        "a row meets the last version at or before it, whichever arrived first",
        {},
        [
            ("rows", [("a", 1, 4.0), ("a", 2, 5.0), ("a", 3, 9.0)]),
            ("versions", [("a", 50, 5.0), ("a", 10, 1.0), ("a", 90, 9.5)]),
            ("watermark", 5.0),
            ("watermark", 9.0),
            ("watermark", 9.1),
        ],
        [(2, "a", 1, 10), (3, "a", 2, 50), (4, "a", 3, 50)],
    ),
    Script(
        "a row waits for the side that is behind",
        {},
        [
            ("versions", [("a", 10, 1.0)]),
            ("rows", [("a", 1, 4.0)]),
            ("watermark of rows", 100.0),
            ("watermark of versions", 4.0),
            ("versions", [("a", 40, 4.0)]),
            ("watermark of versions", 5.0),
        ],
        [(5, "a", 1, 40)],
    ),
    Script(
        "of versions of one time, the last counts",
        {},
        [
            ("versions", [("a", 10, 1.0), ("a", 11, 1.0)]),
            ("rows", [("a", 1, 1.0)]),
            ("versions", [("a", 12, 1.0)]),
            ("watermark", 2.0),
        ],
        [(3, "a", 1, 12)],
    ),
    Script(
        "an inner join drops what meets nothing, and null meets nothing",
        {},
        [
            ("versions", [("a", 10, 3.0), (None, 9, 0.0)]),
            ("rows", [("a", 1, 2.0), ("b", 2, 4.0), (None, 3, 4.0), ("a", 4, 4.0)]),
            ("watermark", "end"),
        ],
        [(2, "a", 4, 10)],
    ),
    Script(
        "a left join pads what meets nothing",
        {"how": "left"},
        [
            ("versions", [("a", 10, 3.0), (None, 9, 0.0)]),
            ("rows", [("a", 1, 2.0), ("b", 2, 4.0), (None, 3, 4.0), ("a", 4, 4.0)]),
            ("watermark", "end"),
        ],
        [(2, "a", 1, None), (2, "b", 2, None), (2, None, 3, None), (2, "a", 4, 10)],
    ),
    Script(
        "a version that deletes ends the one before it",
        {"how": "left", "deleted": "p < 0"},
        [
            ("versions", [("a", 10, 1.0), ("a", -1, 3.0), ("a", 20, 5.0)]),
            ("rows", [("a", 1, 2.0), ("a", 2, 3.0), ("a", 3, 4.0), ("a", 4, 5.0)]),
            ("watermark", 4.0),
            ("watermark", 6.0),
        ],
        [(2, "a", 1, 10), (2, "a", 2, None), (3, "a", 3, None), (3, "a", 4, 20)],
    ),
    Script(
        "what comes behind the watermark is late, within the grace it is not",
        {"grace": 2},
        [
            ("versions", [("a", 10, 1.0)]),
            ("watermark", 5.0),
            ("rows", [("a", 1, 2.9), ("a", 2, 3.0)]),
            ("versions", [("a", 29, 2.9), ("a", 30, 3.0)]),
            ("watermark", 5.5),
        ],
        [(4, "a", 2, 30)],
        [("left", 1), ("right", 29)],
    ),
    Script(
        "a tolerance is how old a version may be",
        {"how": "left", "tolerance": 3},
        [
            ("versions", [("a", 10, 1.0)]),
            ("rows", [("a", 1, 4.0), ("a", 2, 4.5)]),
            ("watermark", 5.0),
        ],
        [(2, "a", 1, 10), (2, "a", 2, None)],
    ),
    Script(
        "forward, a row meets the first version at or after it, and waits for the tolerance",
        {"how": "left", "direction": "forward", "tolerance": 3},
        [
            ("rows", [("a", 1, 1.0), ("a", 2, 2.0), ("a", 3, 6.0)]),
            ("versions", [("a", 20, 2.0), ("a", 21, 2.0), ("a", 40, 4.0)]),
            ("watermark", 4.0),
            ("watermark", 5.5),
            ("watermark", "end"),
        ],
        [(3, "a", 1, 21), (3, "a", 2, 21), (4, "a", 3, None)],
    ),
    Script(
        "the nearest version may be on either side; of two as near, it is the earlier",
        {"direction": "nearest", "tolerance": 3},
        [
            ("versions", [("a", 10, 1.0), ("a", 50, 5.0)]),
            ("rows", [("a", 1, 2.9), ("a", 2, 3.0), ("a", 3, 3.1), ("a", 4, 8.5)]),
            ("watermark", "end"),
        ],
        [(2, "a", 1, 10), (2, "a", 2, 10), (2, "a", 3, 50)],
    ),
]
