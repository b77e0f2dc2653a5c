"""The examples run, and print what plain Python computes as well."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ENVIRONMENT = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}


def started(folder: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    """An example that runs in some folder, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-u", str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder, env=ENVIRONMENT, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip


def complaints(errors: str) -> str:
    """What standard error has besides the line that a slow start is reported with."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not re.search(r" job '.+': starting", line))


def printed(folder: Path, name: str, *arguments: str) -> list[str]:
    """The lines that an example prints; it says nothing else, and leaves no file behind."""
    process = started(folder, name, *arguments)
    output, errors = process.communicate(timeout=600)
    assert (process.returncode, complaints(errors)) == (0, "")
    return [line.strip() for line in output.splitlines()]


TOGETHER = (
    "word_count", "every_100_clicks", "fraud", "running_words", "silent_accounts", "sensor_deltas",
    "hashtags", "ad_clicks", "funnel", "customers",
)  # fmt: skip
ONE_AFTER_THE_OTHER = """
import runpy, sys
for file in sys.argv[1:]:
    print("##", file)
    sys.argv = [file]
    runpy.run_path(file, run_name="__main__")
"""


@pytest.fixture(scope="module")
def lines_of(tmp_path_factory) -> dict[str, list[str]]:
    """What these examples print, in one process, so that Java starts only once."""
    files = [str(EXAMPLES / f"{name}.py") for name in TOGETHER]
    ran = subprocess.run(
        [sys.executable, "-u", "-c", ONE_AFTER_THE_OTHER, *files],
        cwd=tmp_path_factory.mktemp("examples"), env=ENVIRONMENT, timeout=600,
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert (ran.returncode, complaints(ran.stderr)) == (0, "")
    outputs = [output.splitlines()[1:] for output in ran.stdout.split("## ")[1:]]
    stripped = [[line.strip() for line in output] for output in outputs]
    return dict(zip(TOGETHER, stripped, strict=True))


def module(name: str) -> ModuleType:
    """The example as a module, for the data that it makes."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # where dataclasses look for it
    spec.loader.exec_module(made)
    return made


def test_word_count_counts_the_words_of_its_files(tmp_path, lines_of):
    module("word_count").write_books(tmp_path)
    text = " ".join(file.read_text() for file in tmp_path.iterdir()).lower()
    counts = Counter("".join(c if c.isalpha() else " " for c in text).split())
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))

    lines = lines_of["word_count"]
    shown = [line.split()[:2] for line in lines[2:12]]
    assert shown == [[word, f"{n:,}"] for word, n in ranked[:10]]
    assert lines[12] == f"{counts.total():,} words, {len(counts)} of them different."


def test_sessions_finds_the_visits_of_each_user(tmp_path):
    example = module("sessions")
    gap = timedelta(minutes=30)
    clicks, late, newest = defaultdict(list), [], datetime.min
    for file in example.ARRIVALS:
        watermark = newest - gap if newest > datetime.min else newest
        for user, page, text in file:
            at = datetime.strptime(text, "%H:%M")
            newest = max(newest, at)
            if at + gap <= watermark:
                late.append((user, text))
            else:
                clicks[user].append((at, page))
    visits = []
    for user in sorted(clicks):
        for at, page in sorted(clicks[user]):
            if visits and visits[-1][0] == user and at < visits[-1][2]:
                visits[-1][2] = at + gap
                visits[-1][3].append(page)
            else:
                visits.append([user, at, at + gap, [page]])

    lines = printed(tmp_path, "sessions")
    table = lines[lines.index("The visits") + 2 :]
    assert [re.split(r" {2,}", line) for line in table] == [
        [user, f"{start:%H:%M}", f"{end:%H:%M}", ", ".join(pages)]
        for user, start, end, pages in visits
    ]
    assert [line for line in lines if line.startswith("!")] == [
        f"! {user} at {at} is late" for user, at in late
    ]
    # The third file merges two sessions: both are retracted, by a job that was resumed in between.
    third = lines[lines.index("file 3") + 1 : lines.index("file 4")]
    assert [change.split()[:3] for change in third] == [
        ["-", "ann", "10:00"],
        ["-", "ann", "10:55"],
        ["+", "ann", "10:00"],
    ]


def test_every_100_clicks_has_exactly_a_hundred_in_each_window(lines_of):
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    windows: Counter[str] = Counter()
    expected = []
    for number, file in enumerate(module("every_100_clicks").clicks(), start=1):
        for click in sorted(file, key=lambda click: click["at"]):
            waiting[click["page"]].append(click["seconds"])
        expected.append(f"file {number}: {len(file)} clicks")
        for page in sorted(waiting):
            while len(waiting[page]) >= 100:
                stays, waiting[page] = waiting[page][:100], waiting[page][100:]
                stay = f"mean {sum(stays) / 100:.2f} s, longest {max(stays)} s"
                expected.append(f"{page} #{windows[page]}: 100 clicks, {stay}")
                windows[page] += 1
    lines = lines_of["every_100_clicks"]
    assert [line for line in lines if not line.startswith("The job")] == expected


def test_fraud_asks_the_owners_of_cards_and_blocks_those_that_do_not_answer(lines_of):
    example = module("fraud")
    good, questions, asked, tried = [], [], {}, {}
    payments = sorted((row for file in example.FILES for row in file), key=lambda row: row[2])
    for card, amount, at in payments[:-1]:  # the last waits for the watermark
        if amount is None:
            good.append(f"{card}  paid {asked.pop(card):.2f}")
        elif amount < example.TINY:
            tried[card] = at
        elif amount >= example.LARGE and at - tried.get(card, -60) < 60:
            asked[card] = amount
            questions.append(f"{card}  did you pay {amount:.2f}?")
        else:
            good.append(f"{card}  paid {amount:.2f}")
    blocked = [f"{card}  blocked, for nobody answered" for card in asked]
    alerts = sorted([*questions, *blocked], key=lambda line: line.split("  ")[0])
    expected = ["Payments that pass", *sorted(good), "Alerts, a side output", *alerts]
    assert lines_of["fraud"] == expected
    assert (len(good), len(questions), len(blocked)) == (4, 2, 1)


def test_funnel_counts_how_far_visitors_get_in_each_hour(lines_of):
    example = module("funnel")
    hours = example.events()
    expected = []
    for number, hour in enumerate(hours[:-1]):  # the last waits for the watermark
        counts = {name: len({row["visitor"] for row in rows}) for name, rows in hour.items()}
        expected.append(f"{number:02}:00  " + ", ".join(f"{n} {k}" for k, n in counts.items()))
    assert lines_of["funnel"] == expected


def test_customers_are_those_of_the_file_when_an_order_arrives(lines_of):
    known: dict[str, tuple[str, int]] = {}
    expected = []
    for orders, changed in module("customers").ARRIVALS:
        known = changed or known
        for number, customer, price in orders:
            city, discount = known.get(customer, ("nobody knows where", 0))
            paid = price * (100 - discount) / 100
            expected.append(f"order {number} of {customer}: {paid:.2f}, to {city}")
    assert lines_of["customers"] == expected
    assert expected[4] == "order 5 of ann: 56.00, to Bern"


def test_running_words_adds_to_the_counts_of_the_words_of_each_file(lines_of):
    counts: Counter[str] = Counter()
    expected = []
    for number, text in enumerate(module("running_words").FILES, start=1):
        counts.update(text.split())
        listed = ", ".join(f"{word} {counts[word]}" for word in sorted(set(text.split())))
        expected.append(f"file {number}: {listed}")
    lines = lines_of["running_words"]
    assert lines == expected
    assert lines[:3] == ["file 1: a 1", "file 2: a 2, b 1", "file 3: b 2"]


def test_silent_accounts_reports_each_account_once_for_each_silence(lines_of):
    balances: Counter[str] = Counter()
    expected = []
    for number, payments in enumerate(module("silent_accounts").FILES, start=1):
        for account, amount in payments:
            balances[account] += amount
        expected.append(f"file {number}: {len(payments)} payments")
        silent = sorted({account for account, _ in payments})
        expected += [f"{account} is silent, and has {balances[account]}" for account in silent]
    assert lines_of["silent_accounts"] == expected


def test_sensor_deltas_finds_the_periods_without_a_change_of_a_degree(lines_of):
    periods: list[tuple[str, list[tuple[float, float]]]] = []
    for room, degrees, at in sorted(module("sensor_deltas").readings(), key=lambda r: (r[0], r[2])):
        if not periods or periods[-1][0] != room or abs(degrees - periods[-1][1][0][1]) >= 1.0:
            periods.append((room, []))
        periods[-1][1].append((at, degrees))
    lines = lines_of["sensor_deltas"]
    assert [line.split() for line in lines[2:]] == [
        [
            room,
            *(f"{at // 3600:02.0f}:{at % 3600 // 60:02.0f}" for at in (mine[0][0], mine[-1][0])),
            str(len(mine)),
            *(f"{f([degrees for _, degrees in mine]):.2f}" for f in (lambda all: all[0], min, max)),
        ]
        for room, mine in periods
    ]


def test_ad_clicks_counts_the_views_that_were_clicked_within_ten_minutes(lines_of):
    views, clicks = module("ad_clicks").views_and_clicks()
    clicked = dict(clicks)
    waits = defaultdict(list)
    for view, ad, seen in views:
        wait = clicked.get(view, seen + 9999) - seen
        waits[ad].append(wait if wait <= 600 else None)
    expected = []
    for ad, all in sorted(waits.items()):
        some = [wait for wait in all if wait is not None]
        expected.append([ad, str(len(all)), str(len(some)), f"{sum(some) / len(some):.1f}"])
    lines = lines_of["ad_clicks"]
    assert [line.split() for line in lines[2:]] == expected


def test_orders_have_the_prices_of_their_time(tmp_path):
    example = module("orders")
    expected = []
    for order in example.orders():
        listed = [each for each in example.price_list() if each["item"] == order["item"]]
        price = [each for each in listed if each["since"] <= order["at"]][-1]
        at = f"{order['at'] // 3600:02.0f}:{order['at'] % 3600 // 60:02.0f}"
        line = f"{order['number']} {at} {order['item']} {order['pieces']} "
        if price["price"] is None:
            expected.append(f"{line}sold out")
        else:
            total = order["pieces"] * price["price"]
            expected.append(f"{line}{price['price']} {price['since'] // 3600:02.0f}:00 {total}")
    lines = printed(tmp_path, "orders")
    assert [" ".join(line.split()) for line in lines[2:]] == expected


def test_hashtags_suggests_the_three_most_used_for_each_prefix(tmp_path, lines_of):
    example = module("hashtags")
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    expected = defaultdict(list)
    for number, (time, weights) in enumerate(example.TRENDS.items()):
        file = tmp_path / f"{number}.json"
        example.add_file(file, time, weights)
        for post in map(json.loads, file.read_text().splitlines()):
            used[post["at"][:13]].update(w[1:] for w in post["text"].split() if w[0] == "#")
        for prefix in example.TYPED:
            hour = max(h for h in used if any(tag.startswith(prefix) for tag in used[h]))
            mine = [(-n, tag) for tag, n in used[hour].items() if tag.startswith(prefix)]
            expected[f"#{prefix}…"].append([f"{tag} {-n}" for n, tag in sorted(mine)[:3]])

    lines = lines_of["hashtags"]
    shown: dict[str, list[list[str]]] = {}
    for line in lines[2:]:
        cells = re.split(r" {2,}", line)
        if line.startswith("#"):
            columns = shown[cells.pop(0)] = [[] for _ in example.TRENDS]
        for column, cell in zip(columns, cells, strict=False):
            column += [cell] if cell else []
    assert shown == expected


def test_team_scores_adds_up_the_scores_and_draws_them(tmp_path):
    lines = printed(tmp_path, "team_scores", "--quick")
    assert "Together 51; the sum of the ten scores is 51." in lines
    assert (tmp_path / "team-scores.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_the_help_of_an_example_describes_it(file, tmp_path):
    output = " ".join(printed(tmp_path, file.stem, "--help"))
    assert " ".join(str(module(file.stem).__doc__).split()) in output
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_an_example_quietly(tmp_path):
    process = started(tmp_path, "sessions")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "file 1"  # the job runs
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert (process.returncode, complaints(errors)) == (130, "")
