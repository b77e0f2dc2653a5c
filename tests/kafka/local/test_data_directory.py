"""The cluster of a data directory is found in the default one, a named one, or not at all."""

from __future__ import annotations

import json

import pytest

from millstream.kafka import local
from millstream.kafka.local.data_directory import data_folder, locked_folder
from millstream.model.errors import KafkaError


@pytest.fixture
def stopped(tmp_path):
    """A data directory with a cluster that does not run."""
    (tmp_path / "kafka").mkdir()
    one = {"id": 1, "port": 9092, "controller_port": 9093, "process": None}
    (tmp_path / "kafka" / "cluster.json").write_text(json.dumps({"id": "M", "brokers": [one]}))
    return tmp_path


def test_a_running_cluster_is_found_by_its_data_directory(broker, tmp_path, monkeypatch):
    assert local.running(broker.folder.parent) == broker
    monkeypatch.chdir(tmp_path)
    assert local.running() is None
    monkeypatch.setenv("MILLSTREAM_DATA", str(broker.folder.parent))
    assert local.running() == broker


def test_a_cluster_that_does_not_run_is_known_but_not_running(stopped):
    assert local.known(stopped) == local.existing(stopped)
    assert local.existing(stopped).servers == "127.0.0.1:9092"
    assert local.running(stopped) is None


def test_a_directory_without_a_cluster_is_an_error_where_one_is_needed(tmp_path):
    assert local.known(tmp_path) is None
    with pytest.raises(KafkaError, match=f"MS308: there are no local brokers in {tmp_path}"):
        local.existing(tmp_path)


def test_the_default_directory_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MILLSTREAM_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert data_folder() == tmp_path / ".millstream" / "kafka"
    monkeypatch.setenv("MILLSTREAM_DATA", "elsewhere")
    assert data_folder() == tmp_path / "elsewhere" / "kafka"
    assert data_folder("named") == tmp_path / "named" / "kafka"


def test_a_new_data_directory_is_ignored_by_git(tmp_path):
    with locked_folder(tmp_path / "data", lambda _: None) as folder:
        assert folder == tmp_path / "data" / "kafka"
        assert folder.is_dir()
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_a_data_directory_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(KafkaError, match="MS305: .* cannot be used"),
        locked_folder(tmp_path / "file", lambda _: None),
    ):
        pass
