"""Texts that a program needs and nobody is to see: passwords, keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from millstream.model.errors import KafkaError

_REFERENCE = re.compile(r"\$\{(?P<kind>env|file):(?P<place>[^}]+)\}")


class Secret(str):
    """A text whose ``repr`` shows where it is from, and not what it is.

    >>> {"sasl.password": Secret("hush", "secret(file='password.txt')")}
    {'sasl.password': secret(file='password.txt')}
    """

    origin: str

    def __new__(cls, value: str, origin: str) -> Secret:
        made = super().__new__(cls, value)
        made.origin = origin
        return made

    def __repr__(self) -> str:
        return self.origin

    def __reduce__(self) -> tuple[object, ...]:
        return Secret, (str(self), self.origin)


def secret(*, env: str | None = None, file: str | os.PathLike[str] | None = None) -> str:
    """A text from an environment variable, or from a file, for an option that takes a secret.

    It is read when the program is built. It is in no plan, no checkpoint and no message. A new line
    at the end of a file does not count.

    >>> import os, millstream as ms
    >>> os.environ["KAFKA_PASSWORD"] = "hush"
    >>> options = {"sasl.username": "ann", "sasl.password": ms.secret(env="KAFKA_PASSWORD")}
    >>> options
    {'sasl.username': 'ann', 'sasl.password': secret(env='KAFKA_PASSWORD')}
    """
    if (env is None) == (file is None):
        raise KafkaError(
            "MS329",
            "secret() needs a variable or a file, and not both",
            fix="write secret(env='KAFKA_PASSWORD') or secret(file='/run/secrets/kafka')",
        )
    if env is not None:
        return Secret(_variable(env, os.environ), f"secret(env={env!r})")
    path = os.fspath(str(file))
    return Secret(_file(Path(path)), f"secret(file={path!r})")


def with_secrets(text: str) -> str:
    """A setting in which ``${env:NAME}`` and ``${file:PATH}`` name secrets.

    >>> import os
    >>> os.environ["KAFKA_PASSWORD"] = "hush"
    >>> with_secrets("${env:KAFKA_PASSWORD}"), with_secrets("PLAIN")
    (${env:KAFKA_PASSWORD}, 'PLAIN')
    """

    def read(found: re.Match[str]) -> str:
        place = found["place"]
        return _variable(place, os.environ) if found["kind"] == "env" else _file(Path(place))

    value = _REFERENCE.sub(read, text)
    return text if value == text else Secret(value, text)


def _variable(name: str, environment: Mapping[str, str]) -> str:
    if name in environment:
        return environment[name]
    raise KafkaError(
        "MS329",
        f"the environment has no variable {name}, which a secret is to be read from",
        fix=f"set it where the program is started: export {name}=…",
    )


def _file(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise KafkaError(
            "MS329",
            f"a secret cannot be read from the file {path}: {why}",
            fix="name a file that holds nothing but the secret, and that this user may read",
        ) from None
