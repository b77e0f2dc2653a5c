"""Settings of Kafka's clients, in the names of Java's and of librdkafka, which Millstream uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from millstream.kafka.properties import escaped, read_properties
from millstream.model.errors import KafkaError
from millstream.model.secrets import Secret, with_secrets

RESERVED = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "group.id",
        "isolation.level",
        "transactional.id",
    }
)
"""Settings that users cannot change: what is read and written, and how often, depends on them.

A file that was made for another client often contains them. Here they are ignored.
"""
_RENAMED = {
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_STORES = {
    "ssl.truststore": ("a CA file in PEM", "ssl.ca.location=FILE"),
    "ssl.keystore": (
        "a PKCS#12 file",
        "ssl.keystore.location=FILE and ssl.keystore.type=PKCS12",
    ),
}
_TRUSTSTORE = "ssl.truststore.location"
_ENDPOINT = "ssl.endpoint.identification.algorithm"
_JAVAS = {new: old for old, new in _RENAMED.items()} | {
    "ssl.ca.location": _TRUSTSTORE,
    "sasl.mechanisms": "sasl.mechanism",
}
_LOGIN = re.compile(
    r"\S*\.(?:Plain|Scram)LoginModule\s+required\s+(?P<options>.*?);?\s*", re.DOTALL
)
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([^\s;"']+))""")


def client_settings(file: str | Path | None = None, pairs: Iterable[str] = ()) -> dict[str, str]:
    """The settings of a properties file and of ``name=value`` pairs, the pairs last.

    Names may be Java's or librdkafka's. In values, ``${env:NAME}`` is replaced by an environment
    variable and ``${file:PATH}`` by the content of a file: secrets need not be in the settings.

    >>> client_settings(pairs=["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"])
    {'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'PLAIN'}
    """
    settings = read_properties(Path(file)) if file is not None else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise KafkaError(
                "MS322",
                f"the client setting {pair!r} is not of the form name=value",
                fix="write it like this: -X security.protocol=SASL_SSL",
            )
        settings[name.strip()] = value.strip()
    return librdkafka_settings({name: with_secrets(value) for name, value in settings.items()})


def librdkafka_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with Java's names replaced by librdkafka's; MS322 if one has no counterpart.

    >>> login = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
    >>> librdkafka_settings({"sasl.jaas.config": f'{login} username="ann" password="secret";'})
    {'sasl.username': 'ann', 'sasl.password': the password of sasl.jaas.config}
    """
    result: dict[str, str] = {}
    for name, value in settings.items():
        if name == "sasl.jaas.config":
            result |= _login(value)
        elif name == _ENDPOINT:
            result[name] = value or "none"  # in Java, an empty text
        elif name in _RENAMED:
            result[_RENAMED[name]] = value
        elif (store := name.rpartition(".")[0]) in _STORES:
            result |= _store(store, settings) if name.endswith(".location") else {}
        else:
            result[name] = value
    return result


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with librdkafka's names replaced by Java's; others stay.

    >>> java_settings({"security.protocol": "SSL", "ssl.ca.location": "ca.pem"})
    {'security.protocol': 'SSL', 'ssl.truststore.location': 'ca.pem', 'ssl.truststore.type': 'PEM'}
    """
    java = {_JAVAS.get(name, name): value for name, value in settings.items()}
    if java.get(_ENDPOINT) == "none":
        java[_ENDPOINT] = ""
    user, password = java.pop("sasl.username", None), java.pop("sasl.password", None)
    if user is not None and password is not None:
        scram = java.get("sasl.mechanism", "").startswith("SCRAM")
        module = "scram.ScramLoginModule" if scram else "plain.PlainLoginModule"
        login = f"username={_quoted(user)} password={_quoted(password)};"
        java["sasl.jaas.config"] = f"org.apache.kafka.common.security.{module} required {login}"
    if _TRUSTSTORE in java or "ssl.truststore.certificates" in java:
        java["ssl.truststore.type"] = "PEM"
    chain, key = java.get("ssl.certificate.location"), java.get("ssl.key.location")
    if chain is not None and chain == key:  # Java requires both in one file
        del java["ssl.certificate.location"], java["ssl.key.location"]
        java |= {"ssl.keystore.location": chain, "ssl.keystore.type": "PEM"}
    elif "ssl.keystore.key" in java:
        java["ssl.keystore.type"] = "PEM"
    elif "ssl.keystore.location" in java:
        java.setdefault("ssl.keystore.type", "PKCS12")
    return java


def java_properties(settings: Mapping[str, str]) -> str:
    """Settings in librdkafka's names as a file of properties for Kafka's own tools.

    >>> print(java_properties({"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}), end="")
    security.protocol=SSL
    ssl.truststore.location=ca.pem
    ssl.truststore.type=PEM
    """
    return "".join(f"{n}={escaped(value)}\n" for n, value in java_settings(settings).items())


def unknown_setting(reason: str) -> KafkaError:
    """The error for settings that librdkafka does not accept."""
    return KafkaError(
        "MS322",
        f"the Kafka client does not accept the settings: {reason}",
        fix="leave the setting out, or write it as librdkafka names it",
    )


def _store(store: str, settings: Mapping[str, str]) -> dict[str, str]:
    """A Java key or trust store. librdkafka reads PEM files, and keys from PKCS#12."""
    kind = settings.get(f"{store}.type", "JKS").upper()
    location = settings[f"{store}.location"]
    password = settings.get(f"{store}.password")
    if store == "ssl.truststore" and kind == "PEM":
        return {"ssl.ca.location": location}
    if store == "ssl.keystore" and kind == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    if store == "ssl.keystore" and kind == "PKCS12":
        return {f"{store}.location": location} | (
            {f"{store}.password": password} if password is not None else {}
        )
    readable, setting = _STORES[store]
    raise KafkaError(
        "MS322",
        f"{store}.location={location} is a {kind} store, which the Kafka client cannot read",
        fix=f"export it with keytool or openssl to {readable}, and write {setting}",
    )


def _login(text: str) -> dict[str, str]:
    found = _LOGIN.fullmatch(text.strip())
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) or single or plain
        for name, quoted, single, plain in _OPTION.findall(found["options"] if found else "")
    }
    if not {"username", "password"} <= options.keys():
        raise KafkaError(
            "MS322",
            "sasl.jaas.config is not a login with a user name and a password (PLAIN or SCRAM)",
            fix="give the login in librdkafka's settings, whose names begin with sasl.",
        )
    password = Secret(options["password"], "the password of sasl.jaas.config")
    return {"sasl.username": options["username"], "sasl.password": password}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
