"""The console in a browser: a real job, a broken one, and real topics."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from browsers import ARGUMENTS, chromium
from millstream.console.cluster import Cluster
from millstream.console.serve import opened_console
from millstream.console.settings import Settings
from millstream.jobs import control
from millstream.jobs.registry.registry import opened_registry
from millstream.kafka.admin.topics import create_topic
from millstream.kafka.client.connection import Connection
from millstream.system.data_directory import DATA

APP = """
import millstream as ms


def totals(servers: str) -> ms.Pipeline:
    scores = ms.read_kafka(
        "console-scores", schema="team string, points int, at timestamp", event_time="at",
        watermark=ms.bounded("1s"), servers=servers, name="scores",
    )
    windows = scores.key_by("team").window(ms.fixed("10s")).refine(ms.retracting)
    windows = windows.trigger(ms.at_watermark(early=ms.repeatedly(ms.after_count(1))))
    summed = windows.aggregate(total=ms.sum("points")).named("totals")
    return summed.write_kafka("console-totals", servers=servers, name="out")
"""
SCRIPT = "<script>document.title = 'run'</script>"
PATIENCE = 120_000  # milliseconds; what is waited for takes one or two where nothing else runs
PHONE = {"width": 390, "height": 844}


def produce(servers, *rows):
    producer = Connection(servers).producer({})
    for row in rows:
        text = row if isinstance(row, str) else json.dumps(row)
        producer.produce("console-scores", text, key="k")
    assert producer.flush(30) == 0


def score(team, points, second):
    return {"team": team, "points": points, "at": f"2026-01-01T00:00:{second:02}Z"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("console")


@pytest.fixture(scope="module")
def site(data, broker):
    """The address of a console beside a job that runs and one that did not start."""
    for topic in ("console-scores", "console-totals"):
        create_topic(Connection(broker.servers), topic, partitions=1)
    (data / "app.py").write_text(APP)
    (data / "broken.py").write_text("raise ValueError('password=hunter2')")
    environment = {**os.environ, DATA: str(data)}

    def millstream(*arguments, code=0):
        command = [sys.executable, "-m", "millstream", *arguments]
        done = subprocess.run(command, env=environment, cwd=data, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr

    millstream("run", "broken.py", code=1)
    millstream("run", "app.py", "--name", "team-totals", "--set", f"servers={broker.servers}", "-d")
    early = [score("red", 5, 1), score("blue", 3, 2), score(SCRIPT, 1, 3), score("red", 2, 25)]
    produce(broker.servers, *early, '{"team": "cut o')
    with opened_console(Settings(port=0, data=data), Cluster(broker.servers)) as address:
        yield address
    with opened_registry(data) as registry:
        job = registry.job("team-totals")
        if job.is_alive:
            control.stop(registry, job, 120.0)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def pages(browser):
    """Opens pages; none of them may log an error, or ask another machine for anything."""
    contexts, problems = [], []

    def opened(address, allowed="never", **options) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                message.type not in ("error", "warning")
                or allowed in message.text
                or problems.append(message.text)
            ),
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        place = re.match(r"\w+://[^/]+", address)[0]
        page.on(
            "request",
            lambda asked: asked.url.startswith((place, "data:")) or problems.append(asked.url),
        )
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def job(site, data):
    """The address of the job's page, when it has emitted panes."""
    with opened_registry(data) as registry:
        return f"{site}/jobs/{registry.job('team-totals').id}"


def has(place, text):
    expect(place).to_contain_text(text, timeout=PATIENCE)


def fits(page):
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0


def test_the_first_page_says_what_is_alive_and_what_is_not(site, pages):
    page = pages(site)
    running = page.locator("tr", has=page.get_by_role("link", name="team-totals", exact=True))
    has(running, "running")
    has(running, "behind")  # how far event time is, once there is a watermark
    broken = page.locator("tr", has=page.get_by_role("link", name="broken"))
    has(broken, "failed")
    has(broken, "MS227")
    assert "hunter2" not in page.content()
    for each in (running, broken):  # with all that can be done with it
        edge = each.get_by_role("button").bounding_box()
        assert edge["x"] + edge["width"] <= 1280
    page.get_by_label("Search jobs").fill("brok")
    expect(running).to_have_count(0)
    broken.get_by_role("link").click()
    has(page.get_by_role("alert"), "MS227")
    page.get_by_role("link", name="What MS227 means").click()
    has(page.locator("h1"), "MS227")


def test_a_job_is_shown_as_it_goes_without_a_reload(job, pages, broker):
    page = pages(job)
    has(page.locator(".step", has_text="totals").first, "watermark")
    page.evaluate("window.same = true")
    produce(broker.servers, *(score("red", 1, 26) for _ in range(7)))
    has(page.locator(".stat", has_text="Throughput"), "12 rows")
    assert page.evaluate("window.same")
    page.locator(".step", has_text="aggregate").click()
    details = page.locator(".details")
    for answer in ("what?", "sum(points)", "where?", "fixed('10s')", "when?", "how?", "retracting"):
        has(details, answer)
    has(details, "stage 1")
    expect(page.get_by_role("img", name="Batch time")).to_be_visible()


def test_the_live_picture_has_panes_with_their_values_and_what_was_refused(job, pages, broker):
    page = pages(f"{job}#picture")
    expect(page.locator("canvas")).to_be_visible(timeout=PATIENCE)
    panes = page.get_by_label("Last panes")
    has(panes, "blue")
    has(panes, SCRIPT)  # as text
    expect(panes.locator(".timing").first).to_be_visible()
    expect(panes.locator("tr.back").first).to_be_visible()  # early panes were taken back
    painted = (
        "() => { const c = document.querySelector('canvas'); return new Set(c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data).size }"
    )
    assert page.evaluate(painted) > 20
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Live", exact=True)).to_be_visible()
    page.locator("canvas").focus()
    for key in ("ArrowLeft", "ArrowUp", "+", "-", " "):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    produce(broker.servers, score("blue", 9, 4))
    page.get_by_role("tab", name="Late & rejected").click()
    has(page.get_by_label("Late rows"), "expired")
    has(page.get_by_label("Rejected records"), "cut o")


def test_the_keyboard_is_enough(site, pages):
    page = pages(site)
    link = page.get_by_role("link", name="team-totals", exact=True)
    expect(link).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if link.evaluate("element => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    tab = page.get_by_role("tab", name="Overview")
    expect(tab).to_be_visible()
    tab.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Runs")).to_have_attribute("aria-selected", "true")
    has(page.get_by_label("Runs"), "running")


def test_from_the_first_page_one_click_leads_to_the_live_picture(site, pages):
    page = pages(site, viewport=PHONE)
    card = page.locator("tr", has=page.get_by_role("link", name="team-totals", exact=True))
    has(card, "behind")
    for answer in (".pill", *(f"[data-label='{each}']" for each in ("Event time", "Keeps up"))):
        expect(card.locator(answer)).to_be_in_viewport(ratio=1)  # on a phone, without scrolling
    page.get_by_role("link", name="Live picture of team-totals").click()
    expect(page.locator("canvas")).to_be_visible(timeout=PATIENCE)


def test_a_page_that_connects_again_shows_nothing_twice(job, pages):
    page = pages(f"{job}#picture")
    panes = page.get_by_label("Last panes").locator("tbody tr")
    expect(panes.first).to_be_visible(timeout=PATIENCE)
    page.wait_for_timeout(1500)
    before = panes.count()
    # As if the tab was hidden and shown again: the connection is made anew.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(1500)
    assert panes.count() == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_in_both_schemes(site, job, pages, scheme):
    page = pages(site, viewport=PHONE, color_scheme=scheme)
    for address in (site, job, f"{job}#picture", f"{site}/topics", f"{site}/topics/console-scores"):
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("table, canvas").first).to_be_attached()
        fits(page)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") != scheme


def test_messages_are_browsed_and_produced_and_stay_text(site, pages, broker):
    page = pages(f"{site}/topics")
    page.get_by_role("link", name="console-scores").click()
    messages = page.get_by_label("Messages", exact=True)
    has(messages, SCRIPT)
    assert page.title() == "console-scores · Millstream"
    messages.get_by_label("Text").fill("script")
    messages.get_by_label("Text").press("Enter")
    has(messages, "1 match in")
    messages.locator("tr.go").first.click()
    has(messages.locator(".tree"), "points")
    page.get_by_role("button", name="Produce a message").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Key", exact=True).fill("from-a-page")
    form.get_by_label("Value", exact=True).fill('{"team": "green", "note": "<b>bold</b>"}')
    form.get_by_label("Headers").fill("source=console")
    form.get_by_role("button", name="Produce").click()
    expect(form).to_be_hidden(timeout=PATIENCE)
    messages.get_by_label("Text").fill("")
    messages.get_by_label("Text").press("Enter")
    has(messages, "<b>bold</b>")
    messages.locator("tr.go", has_text="from-a-page").click()
    has(messages, "source: console")
    messages.get_by_role("button", name="Live tail").click()
    produce(broker.servers, score("green", 1, 27))
    has(messages.locator("tr.go").first, "green")
    has(messages, "source: console")  # what was open stays open
    messages.get_by_role("button", name="Pause").click()
    produce(broker.servers, score("violet", 1, 28))
    page.wait_for_timeout(1500)
    expect(messages.locator("tr.go", has_text="violet")).to_have_count(0)
    messages.get_by_role("button", name="Live tail").click()  # resumes where it was
    has(messages.locator("tr.go").first, "violet")
    messages.get_by_role("button", name=re.compile("messages? from")).last.click()
    expect(messages.get_by_label("From", exact=True)).to_have_value("time")


def test_topics_are_created_and_deleted_with_their_name_typed(site, pages):
    page = pages(f"{site}/topics")
    page.get_by_role("button", name="Create a topic").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("made-in-a-page")
    form.get_by_label("Partitions").fill("3")
    form.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="made-in-a-page").click()
    page.get_by_role("tab", name="Partitions").click()
    has(page.get_by_role("tabpanel", name="Partitions"), "2")
    page.get_by_role("tab", name="Consumer groups").click()
    has(page.get_by_role("tabpanel", name="Consumer groups"), "No consumer group reads it")
    page.get_by_role("button", name="Delete", exact=True).click()
    sure = page.get_by_role("dialog").get_by_role("button", name="Delete the topic")
    expect(sure).to_be_disabled()
    page.get_by_label("Type made-in-a-page").fill("made-in-a-page")
    sure.click()
    expect(page.locator("h1")).to_have_text("Topics")
    expect(page.get_by_role("link", name="made-in-a-page")).to_have_count(0, timeout=PATIENCE)


def test_a_broker_that_is_away_leaves_the_jobs_alone(data, site, pages):
    with opened_console(Settings(port=0, data=data, read_only=True), Cluster("127.0.0.1:1")) as at:
        page = pages(f"{at}/", allowed="status of 503", viewport=PHONE)
        has(page.locator("tr", has_text="team-totals"), "running")
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)  # it is read-only
        page.get_by_role("link", name="Topics").click()
        has(page.get_by_role("alert"), "Kafka does not answer")
        page.get_by_role("link", name="Jobs").click()
        has(page.locator("tr", has_text="team-totals"), "running")


def test_a_job_is_stopped_and_resumed_by_clicks(job, pages):
    page = pages(job)
    state = page.locator(".head .pill")
    has(state, "running")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Stop the job").click()
    has(state, "stopped")
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("button", name="Resume the job").click()
    has(state, "running")
    assert Path(job).name in page.url
