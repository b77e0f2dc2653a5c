"""Who may ask the console for what."""

from __future__ import annotations

import re

import pytest

from millstream.console.app import console_app
from millstream.console.guard import MOST_BYTES
from millstream.console.settings import Settings

TOKEN = "0123456789abcdef0123456789abcdef"
CHANGES = [
    *(f"/api/jobs/x/{change}" for change in ("stop", "resume", "delete")),
    *(f"/api/topics/x/{change}" for change in ("messages", "delete")),
    *(f"/api/groups/x/{change}" for change in ("reset", "delete")),
    "/api/topics",
]


def error(answer):
    return answer.json()["error"]


@pytest.mark.parametrize("path", ["/", "/jobs/x", "/static/main.js", "/api/jobs", "/none"])
def test_every_answer_forbids_what_its_page_does_not_need(client, path):
    headers = client().get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8265", "127.0.0.1.evil.example", ""]
)
def test_a_name_of_another_site_that_points_here_is_refused(client, host):
    answer = client().get("/api/jobs", headers={"host": host})
    assert (answer.status_code, error(answer)["code"]) == (421, "MS332")


@pytest.mark.parametrize("host", ["localhost:1234", "127.0.0.1", "[::1]:8265"])
def test_names_of_this_machine_are_not(client, host):
    assert client().get("/api/jobs", headers={"host": host}).status_code == 200


def test_the_address_that_it_listens_at_is_one_of_them(client):
    mine = client(host="127.0.0.9")
    assert mine.get("/api/jobs", headers={"host": "127.0.0.9:8265"}).status_code == 200
    assert client().get("/api/jobs", headers={"host": "127.0.0.9:8265"}).status_code == 421


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8265", ""])
def test_changes_from_other_origins_are_refused(client, path, origin):
    answer = client().post(path, json={}, headers={"origin": origin})
    assert (answer.status_code, error(answer)["what"]) == (
        403, "the request is not from a page of the console"
    )  # fmt: skip


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("token", ["", "wrong"])
def test_changes_without_the_csrf_token_are_refused(client, path, token):
    answer = client().post(path, json={}, headers={"x-csrf-token": token})
    assert (answer.status_code, error(answer)["code"]) == (403, "MS332")


def test_all_changes_are_among_those_that_are_tested_here():
    app = console_app(Settings()).app
    paths = {
        re.sub(r"{\w+}", "x", route.path)
        for route in app.routes
        if "POST" in (getattr(route, "methods", None) or ())
    }
    assert paths == {*CHANGES, "/login"}


@pytest.mark.parametrize("path", CHANGES)
def test_a_console_that_is_read_only_changes_nothing(client, path):
    answer = client(read_only=True).post(path, json={})
    assert (answer.status_code, error(answer)["what"]) == (403, "the console is read-only")
    assert client(read_only=True).get("/api/session").json()["read_only"]


def test_requests_are_limited(client):
    answer = client().post("/api/jobs/x/delete", content=b" " * (MOST_BYTES + 1))
    assert answer.status_code == 413


def test_without_its_token_only_the_login_page_is_shown(client):
    mine = client(token=TOKEN)
    for path in ("/", "/jobs/x", "/topics"):
        answer = mine.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert mine.get("/login").status_code == 200
    answer = mine.get("/api/jobs")
    assert (answer.status_code, error(answer)["code"]) == (401, "MS332")
    assert mine.post("/api/jobs/x/stop", json={}).status_code == 401


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], TOKEN + "0", None])
def test_a_wrong_token_opens_nothing(client, given):
    mine = client(token=TOKEN)
    assert mine.post("/login", json={"token": given}).status_code == 403
    assert mine.get("/api/jobs").status_code == 401


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'{"token": 5}', b'{"other": "x"}'])
def test_a_login_that_cannot_be_read_opens_nothing(client, body):
    mine = client(token=TOKEN)
    answer = mine.post("/login", content=body)
    assert (answer.status_code, error(answer)["code"]) == (400, "MS333")
    assert mine.get("/api/jobs").status_code == 401


def test_a_token_opens_a_session_that_scripts_of_other_pages_cannot_use(client):
    mine = client(token=TOKEN)
    answer = mine.post("/login", json={"token": TOKEN})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert mine.get("/api/jobs").status_code == 200
    answer = mine.post("/login", json={"token": TOKEN}, headers={"origin": "http://evil.example"})
    assert answer.status_code == 403


def test_scripts_send_the_token_as_a_header(client):
    mine = client(token=TOKEN)
    assert mine.get("/api/jobs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert mine.get("/api/jobs", headers={"authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"]
)
def test_paths_do_not_leave_the_folder_of_the_pages(client, path):
    answer = client().get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text
