"""What people see of a batch: a table where it fits, nothing cut off, plain in a file."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from millstream.plan.targets import Console
from millstream.sinks.kinds import sink_of
from millstream.sinks.protocol import Committer
from millstream.sinks.slices import Slice

TIMESTAMP = pa.timestamp("us", "UTC")
WINDOW = pa.struct([("start", TIMESTAMP), ("end", TIMESTAMP)])
PANE = pa.struct(
    [("timing", pa.string()), ("index", pa.int64()), ("first", pa.bool_()), ("last", pa.bool_())]
)
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def window(start: datetime, minutes: float = 2) -> dict[str, datetime]:
    return {"start": start, "end": start + timedelta(minutes=minutes)}


def pane(timing: str, index: int) -> dict[str, object]:
    return {"timing": timing, "index": index, "first": index == 0, "last": False}


def results(*windows: dict[str, datetime | None] | None) -> pa.Table:
    return pa.table({"n": range(len(windows)), "window": pa.array(windows, WINDOW)})


def receipt(number: int, *tables: pa.Table, limit: int = 20) -> bytes:
    writer = sink_of("totals", Console(limit)).writer(Slice("a1b2c3d4", 3, number, attempt=0))
    for table in tables:
        writer.write(table)
    return writer.close()


def printed(capsys, *tables: pa.Table, limit: int = 20, retracts: bool = False) -> str:
    committer = sink_of("totals", Console(limit, retracts)).committer()
    receipts = [receipt(number, table, limit=limit) for number, table in enumerate(tables)]
    committer.commit("a1b2c3d4", 3, receipts)
    return capsys.readouterr().out


@pytest.fixture
def terminal(monkeypatch):
    """Standard output is a terminal of 80 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_batch_is_a_table_with_a_title(capsys):
    table = pa.table(
        {
            "team": ["red", "日本語"],
            "total": [14, -3],
            "window": pa.array([window(NOON), window(NOON)], WINDOW),
            "pane": pa.array([pane("ON_TIME", 0), pane("LATE", 12)], PANE),
            "kind": ["+", "-"],
        }
    )
    assert printed(capsys, table) == (
        "totals · batch 3\n"
        "team     total   window 2024-05-01   pane        kind\n"
        "─────────────────────────────────────────────────────\n"
        "red         14   12:00:00–12:02:00   ON_TIME 0   +\n"
        "日本語      -3   12:00:00–12:02:00   LATE 12     -\n"
        "\n"
    )


def test_an_empty_batch_prints_nothing(capsys):
    committer = sink_of("totals", Console(20)).committer()
    committer.commit("a1b2c3d4", 0, [])
    committer.commit("a1b2c3d4", 1, [receipt(0), receipt(1, pa.table({"n": pa.array([], "i8")}))])
    assert capsys.readouterr().out == ""


def test_only_the_first_rows_are_printed_and_the_rest_is_counted(capsys):
    tables = [pa.table({"n": [1, 2]}), pa.table({"n": [3, 4]}), pa.table({"n": range(5, 2000)})]
    lines = printed(capsys, *tables, limit=3).splitlines()
    assert lines[3:] == ["1", "2", "3", "… and 1,996 more rows", ""]
    assert printed(capsys, *tables[:2], limit=3).splitlines()[-2] == "… and 1 more row"
    assert "more" not in printed(capsys, *tables[:2], limit=4)


def test_a_receipt_holds_no_more_rows_than_are_printed():
    tables = [pa.table({"n": range(1000 * n, 1000 * n + 1000)}) for n in range(100)]
    assert len(receipt(0, *tables, limit=5)) < 2000


def test_slices_come_in_their_order(capsys):
    committer = sink_of("totals", Console(20)).committer()
    tables = {0: pa.table({"n": [1]}), 2: pa.table({"n": [2]}), 256: pa.table({"n": [3]})}
    receipts = [receipt(number, table) for number, table in tables.items()]
    committer.commit("a1b2c3d4", 0, receipts[::-1])
    assert capsys.readouterr().out.splitlines()[3:] == ["1", "2", "3", ""]


def test_a_commit_that_is_repeated_prints_once(capsys):
    def commit(committer: Committer, run: str, batch: int) -> bool:
        committer.commit(run, batch, [receipt(0, pa.table({"n": [1]}))])
        return capsys.readouterr().out != ""

    committer = sink_of("totals", Console(20)).committer()
    assert [commit(committer, *at) for at in [("r", 0), ("r", 0), ("r", 1)]] == [True, False, True]


def test_windows_of_several_days_have_their_dates(capsys):
    next_day = NOON + timedelta(days=1)
    lines = printed(
        capsys,
        results(
            window(NOON),
            window(next_day),
            window(NOON + timedelta(hours=11, minutes=59)),
            window(NOON - timedelta(hours=12), minutes=24 * 60),
            window(NOON, minutes=0.00125),
            {"start": None, "end": None},
            {"start": NOON, "end": None},
            None,
        ),
    ).splitlines()
    assert [line.split("   ", 1)[1] for line in lines[3:-1]] == [
        "2024-05-01 12:00:00–12:02:00",
        "2024-05-02 12:00:00–12:02:00",
        "2024-05-01 23:59:00–2024-05-02 00:01:00",
        "2024-05-01–2024-05-02",
        "2024-05-01 12:00:00–12:00:00.075",
        "all of time",
        "2024-05-01 12:00:00–…",
        "null",
    ]


def test_windows_of_one_day_are_times_under_that_day(capsys):
    lines = printed(capsys, results(window(NOON), None, window(NOON, 0.5))).splitlines()
    assert [line.split("   ")[1] for line in lines if "─" not in line and "   " in line] == [
        "window 2024-05-01",
        "12:00:00–12:02:00",
        "null",
        "12:00:00–12:00:30",
    ]


def test_a_file_gets_plain_lines_as_long_as_they_need_be(capsys):
    out = printed(capsys, pa.table({"text": ["x" * 300], **{f"c{n}": [n] for n in range(50)}}))
    assert "\x1b" not in out
    assert len(out.splitlines()) == 5
    assert "x" * 300 in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_a_terminal_shows_retractions_struck_through(terminal, capsys):
    table = pa.table({"n": [10, 20], "kind": ["+", "-"]})
    kept, taken_back = printed(capsys, table, retracts=True).splitlines()[3:5]
    assert "\x1b" not in kept
    assert "\x1b[9;31m20\x1b[0m" in taken_back
    _, of_the_user = printed(capsys, table).splitlines()[3:5]
    assert "\x1b" not in of_the_user  # where nothing is taken back, it is a column like any other


def test_long_texts_continue_in_the_next_line_on_a_terminal(terminal, capsys):
    words = " ".join(f"word{n}" for n in range(30))
    lines = printed(capsys, pa.table({"n": [123456], "text": [words]})).splitlines()
    assert lines[3].startswith("123456   word0 word1")
    assert lines[4].startswith("         word")
    assert " ".join(" ".join(lines[3:]).replace("123456", "").split()) == words


def test_what_is_too_wide_for_a_table_goes_below_each_other(terminal, capsys):
    table = pa.table({f"column_{n}": [n * 10**9, 7] for n in range(9)})
    lines = printed(capsys, table).splitlines()
    assert lines[1] == "  \x1b[1mcolumn_0\x1b[0m  0"
    assert lines[9] == "  \x1b[1mcolumn_8\x1b[0m  8000000000"
    assert lines[10] == ""
    assert lines[11] == "  \x1b[1mcolumn_0\x1b[0m  7"


visible = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S"], exclude_characters="─"),
    min_size=1,
)


@given(
    st.dictionaries(visible, visible, min_size=1, max_size=9),
    st.sampled_from([20, 40, 80, 120]),
)
def test_nothing_is_ever_cut_off_or_wider_than_the_terminal(row, width):
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out:
        for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)}.items():
            patch.setenv(name, value)
        table = pa.table({name: [value, "x"] for name, value in row.items()})
        sink_of("t", Console(9)).committer().commit("a1b2c3d4", 0, [receipt(0, table)])
    _, *lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert all(cell_len(line) <= width for line in lines)
    found = Counter("".join(lines)) - Counter({"─": 200, " ": 100_000})
    cells = Counter("".join(row.values()) + "x" * len(row))
    titles = Counter("".join(row))
    assert found in (cells + titles, cells + titles + titles)  # a table, or each row for itself
