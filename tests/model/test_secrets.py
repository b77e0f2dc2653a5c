"""Secrets come from the environment or a file, and are shown nowhere."""

from __future__ import annotations

import pickle

import pytest

import millstream as ms
from millstream.kafka.client.connection import Connection
from millstream.kafka.settings import client_settings
from millstream.model.errors import KafkaError

HUSH = "nobody-may-see-this"


def test_a_secret_is_the_text_and_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_PASSWORD", HUSH)
    (tmp_path / "password").write_text(f"{HUSH}\n")
    for made in (ms.secret(env="KAFKA_PASSWORD"), ms.secret(file=tmp_path / "password")):
        assert made == HUSH
        assert HUSH not in repr({"sasl.password": made})
        travelled = pickle.loads(pickle.dumps(made))
        assert travelled == HUSH
        assert repr(travelled) == repr(made)


def test_a_plan_does_not_show_it(monkeypatch, capsys):
    monkeypatch.setenv("KAFKA_PASSWORD", HUSH)
    options = {"sasl.password": ms.secret(env="KAFKA_PASSWORD")}
    for stream in (
        ms.read_kafka("scores", servers="there:9092", options=options),
        ms.read_files("/data", format="text", options=options),
    ):
        stream.explain()
        assert HUSH not in repr([stream.node, stream]) + capsys.readouterr().out


def test_a_file_of_settings_and_the_command_line_name_where_a_secret_is(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_PASSWORD", HUSH)
    (tmp_path / "password").write_text(HUSH)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    file = tmp_path / "client.properties"
    file.write_text(
        f'sasl.jaas.config={module} username="ann" password="${{env:KAFKA_PASSWORD}}";\n'
    )
    settings = client_settings(file, [f"ssl.key.password=${{file:{tmp_path / 'password'}}}"])
    assert (settings["sasl.password"], settings["ssl.key.password"]) == (HUSH, HUSH)
    assert HUSH not in repr([settings, Connection("there:9092", settings)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs a variable or a file"),
        ({"env": "A", "file": "b"}, "needs a variable or a file"),
        ({"env": "NO_SUCH_VARIABLE"}, "the environment has no variable NO_SUCH_VARIABLE"),
        ({"file": "/no/such/file"}, "/no/such/file: No such file or directory"),
    ],
)
def test_a_secret_that_is_not_there_is_an_error(given, message):
    with pytest.raises(KafkaError, match="MS329") as caught:
        ms.secret(**given)
    assert message in caught.value.what
