"""Which Java Spark and Kafka are given."""

from __future__ import annotations

import errno

import pytest

from millstream.model.errors import RunError
from millstream.system import java
from millstream.system.java import checked_java, java_runs


@pytest.fixture
def home(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    return tmp_path


@pytest.fixture(autouse=True)
def _no_set_up(monkeypatch):
    monkeypatch.setattr(java, "_found_by_setup", lambda: "")


def test_java_home_comes_first(home):
    assert checked_java({"JAVA_HOME": str(home), "PATH": ""}) == str(home)


def test_what_set_up_found_comes_next(home, monkeypatch):
    monkeypatch.setattr(java, "_found_by_setup", lambda: str(home))
    assert checked_java({"PATH": ""}) == str(home)


def test_the_java_on_the_path_needs_no_home(home):
    assert checked_java({"PATH": str(home / "bin")}) is None


def test_a_java_that_may_not_be_run_does_not_count(home):
    (home / "bin" / "java").chmod(0o644)
    with pytest.raises(RunError, match="MS205.*which has no java that can be run"):
        checked_java({"JAVA_HOME": str(home), "PATH": ""})


def test_a_java_that_the_system_cannot_run_is_the_same_error():
    why = "cannot run the one that is there: .* Exec format error"
    with pytest.raises(RunError, match=f"MS205.*{why}"), java_runs():
        raise OSError(errno.ENOEXEC, "Exec format error")


def test_no_java_at_all_is_an_error_with_what_to_install():
    with pytest.raises(RunError, match="MS205.*none on PATH") as caught:
        checked_java({"PATH": ""})
    assert "apt-get install" in caught.value.fix
