"""Client settings, in the names of Java and of librdkafka."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from millstream.kafka.client.connection import Connection
from millstream.kafka.settings import (
    client_settings,
    java_properties,
    java_settings,
    librdkafka_settings,
)
from millstream.model.errors import KafkaError

SCRAM = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="ann" password="secret";'
)


def test_pairs_override_the_file(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("client.id=file\nsecurity.protocol=SSL\n")
    assert client_settings(file, ["client.id=pair=1"]) == {
        "client.id": "pair=1",
        "security.protocol": "SSL",
    }


@pytest.mark.parametrize("module", ["plain.PlainLoginModule", "scram.ScramLoginModule"])
def test_a_login_of_javas_is_a_user_and_a_password(module):
    name = f"org.apache.kafka.common.security.{module}"
    text = f"""{name} required username="ann" password="a \\"b\\" ; c='d'" ;"""
    assert librdkafka_settings({"sasl.jaas.config": text}) == {
        "sasl.username": "ann",
        "sasl.password": "a \"b\" ; c='d'",
    }


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"ssl.truststore.location": "ca.pem", "ssl.truststore.type": "PEM"},
            {"ssl.ca.location": "ca.pem"},
        ),
        (
            {"ssl.keystore.location": "me.pem", "ssl.keystore.type": "PEM"},
            {"ssl.certificate.location": "me.pem", "ssl.key.location": "me.pem"},
        ),
        (
            {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.password": "secret",
                "ssl.keystore.location": "me.p12",
                "ssl.key.password": "secret too",
            },
            {
                "ssl.keystore.location": "me.p12",
                "ssl.keystore.password": "secret",
                "ssl.key.password": "secret too",
            },
        ),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "some"},
            {"ssl.ca.pem": "some"},
        ),
        (
            {"ssl.keystore.key": "a key", "ssl.keystore.certificate.chain": "a chain"},
            {"ssl.key.pem": "a key", "ssl.certificate.pem": "a chain"},
        ),
        ({"max.request.size": "5000000"}, {"message.max.bytes": "5000000"}),
    ],
)
def test_javas_names_are_translated(settings, expected):
    assert librdkafka_settings(settings) == expected


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ("ssl.truststore.location=trust.jks", "is a JKS store.*ssl.ca.location=FILE"),
        ("ssl.keystore.location=key.jks", "is a JKS store.*ssl.keystore.type=PKCS12"),
        ("sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required;", "jaas"),
        ("security.protocol", "not of the form name=value"),
        ("=x", "not of the form name=value"),
    ],
)
def test_what_cannot_be_translated_is_an_error(pair, reason):
    with pytest.raises(KafkaError, match=f"(?s){reason}") as error:
        client_settings(pairs=[pair])
    assert error.value.code == "MS322"


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(KafkaError, match="cannot be read: .* No such file"):
        client_settings(tmp_path / "missing.properties")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"key.deserializer": "x"}, 'No such configuration property: "key.deserializer"'),
        ({"security.protocol": "TLS"}, 'Invalid value "TLS"'),
    ],
)
def test_a_setting_that_the_client_does_not_know_is_an_error(settings, reason):
    with pytest.raises(KafkaError, match=reason) as error:
        _ = Connection("127.0.0.1:1", settings).admin
    assert error.value.code == "MS322"


def test_translated_settings_are_the_clients():
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=a password=b;"
    settings = librdkafka_settings(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas,
            "ssl.endpoint.identification.algorithm": "",
            "max.request.size": "5000000",
            "receive.buffer.bytes": "65536",
            "send.buffer.bytes": "65536",
        }
    )
    with AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **settings}):
        pass


@pytest.mark.parametrize(
    "settings",
    [
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""},
        {"ssl.keystore.location": "me.pem", "ssl.keystore.type": "PEM"},
        {"ssl.keystore.location": "me.p12", "ssl.keystore.type": "PKCS12"},
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": "a key",
            "ssl.keystore.certificate.chain": "a chain",
        },
        {"ssl.truststore.location": "ca.pem", "ssl.truststore.type": "PEM"},
        {"ssl.truststore.certificates": "some", "ssl.truststore.type": "PEM"},
        {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM},
    ],
)
def test_settings_in_javas_names_are_the_same_after_a_translation_and_back(settings):
    assert java_settings(librdkafka_settings(settings)) == settings
    assert java_settings(settings) == settings


def test_two_names_of_ours_are_one_of_javas():
    given = {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "ann", "sasl.password": "secret"}
    assert java_settings(given) == {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_settings_for_kafkas_own_tools_read_back_the_same(tmp_path, mechanism):
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "ssl.ca.location": "C:\\naïve 🎉\\ca.pem",
        "sasl.username": 'a"b\\c',
        "sasl.password": "x=y; z",
    }
    file = tmp_path / "client.properties"
    file.write_text(java_properties(settings), encoding="ascii")
    assert client_settings(file) == settings
