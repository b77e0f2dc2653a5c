"""Client settings as Kafka's own tools take them, in the names of librdkafka, which we run on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from millstream.model.errors import KafkaError
from millstream.model.secrets import Secret, with_secrets

DECIDED = frozenset(
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
"""What is never the user's to say, as what is read and written, and whether once, hangs on it.

A file that was made for another client often says it. For ours, that does not count.
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

# One line of a file of properties: comments and blanks aside, a key, a separator, a value.
_PROPERTY = re.compile(r"(?P<key>(?:\\.|[^\\\s=:])+)\s*[=:\s]?\s*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def client_settings(file: str | Path | None = None, pairs: Iterable[str] = ()) -> dict[str, str]:
    """The settings of a properties file and of ``name=value`` pairs, the pairs last.

    Names may be Java's or librdkafka's. In values, ``${env:NAME}`` stands for an environment
    variable and ``${file:PATH}`` for what is in a file: secrets need not be in the settings.

    >>> client_settings(pairs=["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"])
    {'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'PLAIN'}
    """
    settings = _read(Path(file)) if file is not None else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise KafkaError(
                "MS322",
                f"the client setting {pair!r} is not of the form name=value",
                fix="write it like this: -X security.protocol=SASL_SSL",
            )
        settings[name.strip()] = value.strip()
    return translated({name: with_secrets(value) for name, value in settings.items()})


def translated(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings in Java's names as librdkafka's; what it has no name for is refused.

    >>> login = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
    >>> translated({"sasl.jaas.config": f'{login} username="ann" password="secret";'})
    {'sasl.username': 'ann', 'sasl.password': the password of sasl.jaas.config}
    """
    result: dict[str, str] = {}
    for name, value in settings.items():
        if name == "sasl.jaas.config":
            result |= _login(value)
        elif name == _ENDPOINT:
            result[name] = value or "none"  # Java says it with an empty text
        elif name in _RENAMED:
            result[_RENAMED[name]] = value
        elif (store := name.rpartition(".")[0]) in _STORES:
            result |= _store(store, settings) if name.endswith(".location") else {}
        else:
            result[name] = value
    return result


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings in librdkafka's names as Java's clients take them; those in Java's stay.

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
    if chain is not None and chain == key:  # Java wants both in one file
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
    return "".join(f"{n}={_escaped(value)}\n" for n, value in java_settings(settings).items())


def unknown_setting(reason: str) -> KafkaError:
    """The error for settings that librdkafka does not take."""
    return KafkaError(
        "MS322",
        f"the Kafka client does not take the settings: {reason}",
        fix="leave the setting out, or give it in librdkafka's words",
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
    readable, words = _STORES[store]
    raise KafkaError(
        "MS322",
        f"{store}.location={location} is a {kind} store, which the Kafka client cannot read",
        fix=f"export it with keytool or openssl to {readable}, and write {words}",
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


def _read(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KafkaError(
            "MS322",
            f"the file of client settings {file} cannot be read: {error}",
            fix="name a file of lines such as security.protocol=SASL_SSL",
        ) from error
    return dict(map(_property, _logical_lines(text)))


def _logical_lines(text: str) -> Iterable[str]:
    """The lines without blanks and comments, each joined with those that continue it."""
    joined = ""
    for line in text.splitlines():
        line = line.lstrip()
        if not joined and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield joined + line
        joined = ""
    if joined:
        yield joined


def _property(line: str) -> tuple[str, str]:
    found = _PROPERTY.match(line)
    # A line that begins with a separator has an empty name: Java takes it so, and the client not.
    key, value = (found["key"], found["value"]) if found else ("", line)
    return _unescaped(key), _unescaped(value).strip()


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        sign = found[1]
        return chr(int(sign[1:], 16)) if len(sign) > 1 else _CONTROL.get(sign, sign)

    # Java writes signs beyond its 16 bits as two.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escaped(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "".join(sign if sign.isascii() else _in_digits(sign) for sign in escaped)


def _in_digits(sign: str) -> str:
    return re.sub("(....)", r"\\u\1", sign.encode("utf-16-be").hex())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
