"""Ivy fetches jars from the repositories that its settings name."""

from __future__ import annotations

from millstream.kafka.local.ivy import fetch
from millstream.kafka.local.jar import Jar, pinned


def test_several_ivies_fetch_the_jars_into_one_folder(repository, tmp_path):
    folder = tmp_path / "fetched"
    folder.mkdir()
    progress: list[str] = []
    fetch(pinned("connector"), folder, progress.append)
    assert {file.name for file in folder.glob("*.jar")} == {jar.file for jar in pinned("connector")}
    assert progress[-1] == "fetching jars: 4 of 4"


def test_the_output_names_a_jar_that_is_not_found(repository, tmp_path):
    folder = tmp_path / "fetched"
    folder.mkdir()
    output = fetch([Jar("org.example", "missing", "1.0", "")], folder, lambda _: None)
    assert any("missing;1.0: not found" in line for line in output)
    assert list(folder.glob("*.jar")) == []
