"""Where the console listens, and what it needs to be reached from elsewhere."""

from __future__ import annotations

import pytest

from millstream.console.settings import Settings, read_token
from millstream.model.errors import RunError


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.9"])
def test_on_this_machine_it_needs_nothing(host):
    assert Settings(host).is_local


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_beyond_this_machine_it_needs_a_token_and_a_certificate(host, tmp_path):
    pem = tmp_path / "file.pem"
    pem.write_text("PEM")
    for some in ({}, {"token": "t" * 32}, {"cert": pem, "key": pem}):
        with pytest.raises(RunError, match="MS330.*others could reach the console"):
            Settings(host, **some)
    assert not Settings(host, token="t" * 32, cert=pem, key=pem).is_local


def test_a_certificate_needs_its_key_and_both_must_be_there(tmp_path):
    pem = tmp_path / "file.pem"
    pem.write_text("PEM")
    with pytest.raises(RunError, match="MS330: a certificate needs its key"):
        Settings(cert=pem)
    with pytest.raises(RunError, match="MS330.*none.pem' cannot be read"):
        Settings(cert=pem, key=tmp_path / "none.pem")


def test_a_token_is_a_secret_of_some_length(tmp_path):
    file = tmp_path / "token"
    with pytest.raises(RunError, match="MS330.*cannot be read"):
        read_token(file)
    file.write_text("0123456789abcdef\n")
    file.chmod(0o644)
    with pytest.raises(RunError, match="MS330: others can read the token file"):
        read_token(file)
    file.chmod(0o600)
    assert read_token(file) == "0123456789abcdef"
    for bad in ("short", "two words of a token", "schlüssel-schlüssel"):
        file.write_text(bad)
        with pytest.raises(RunError, match="MS330.*no line of 16 or more characters"):
            read_token(file)


def test_secrets_are_not_in_its_text():
    made = Settings(token="hunter2hunter2hunter2")
    assert "hunter2" not in repr(made)
    assert made.csrf not in repr(made)
