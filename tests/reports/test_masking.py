"""Secrets are masked wherever the console shows text."""

from __future__ import annotations

import pytest

from millstream.reports.masking import HIDDEN, is_secret, masked


@pytest.mark.parametrize(
    "text",
    [
        "--set password=hunter2",
        "sasl.password = 'hunter2'",
        '{"api_key": "hunter2", "team": "red"}',
        "Authorization: Bearer hunter2hunter2",
        "postgres://ann:hunter2@db/scores",
        'sasl.jaas.config=… username="ann" password="hunter2";',
        "AWS_SECRET_ACCESS_KEY=hunter2",
        "KAFKA_TOKEN: hunter2",
    ],
)
def test_values_of_secrets_are_hidden(text):
    assert "hunter2" not in masked(text)
    assert HIDDEN in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "rows=5 late=2",
        "password=${env:PASSWORD}",
        "--set 'password=${file:/run/p}'",
        "read key: red",
    ],
)
def test_all_else_stays(text):
    assert masked(text) == text


def test_settings_with_such_names_are_secrets():
    assert is_secret("ssl.key.password")
    assert not is_secret("cleanup.policy")
