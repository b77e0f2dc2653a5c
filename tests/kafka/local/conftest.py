"""What tests of jars share: a repository of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.kafka.local.jars import jars

REPOSITORY = """
<ivysettings>
  <settings defaultResolver="here"/>
  <resolvers>
    <filesystem name="here" checkmodified="true">
      <artifact pattern="{folder}/[artifact]-[revision].[ext]"/>
    </filesystem>
  </resolvers>
</ivysettings>
"""


@pytest.fixture(scope="module")
def connector() -> list[Path]:
    """The real jars, fetched if this machine has never had them."""
    return jars("connector")


@pytest.fixture
def repository(tmp_path, monkeypatch, connector):
    """A new cache, which is filled from a repository of the user's own: a folder."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for jar in connector:
        (folder / jar.name).symlink_to(jar)
    (tmp_path / ".ivy2").mkdir()
    settings = REPOSITORY.format(folder=folder)
    (tmp_path / ".ivy2" / "ivysettings.xml").write_text(settings)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cäche"))
    return folder
