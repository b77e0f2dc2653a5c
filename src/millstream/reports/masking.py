"""Hides secrets in what people see of jobs: logs, errors, commands and settings."""

from __future__ import annotations

import re

HIDDEN = "••••••"
_NAMES = r"[\w.-]*(?:password|passwd|secret|token|api[_.-]?key|access[_.-]?key|credential)[\w.-]*"
_PAIR = re.compile(
    rf"""(?P<name>["']?\b{_NAMES}["']?\s*[=:]\s*)(?P<value>"[^"]*"|'[^']*'|[^\s,;&"'}}]+)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b((?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_USER = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^/\s:@]+:)[^@\s/]+(?=@)", re.IGNORECASE)
_REFERENCE = re.compile(r"""["']?\$\{(?:env|file):""")


def masked(text: str) -> str:
    """The text without values of what is called a password, a token and so on.

    >>> masked("--set password=hunter2 --set team=red")
    '--set password=•••••• --set team=red'
    >>> masked("kafka://ann:hunter2@host:9092"), masked("sasl.password=${env:PASSWORD}")
    ('kafka://ann:••••••@host:9092', 'sasl.password=${env:PASSWORD}')
    """
    text = _PAIR.sub(_hidden, text)
    return _USER.sub(rf"\1{HIDDEN}", _BEARER.sub(rf"\1{HIDDEN}", text))


def is_secret(name: str) -> bool:
    """Whether what has such a name is not to be shown.

    >>> is_secret("sasl.password"), is_secret("retention.ms")
    (True, False)
    """
    return re.fullmatch(_NAMES, name, re.IGNORECASE) is not None


def _hidden(found: re.Match[str]) -> str:
    if _REFERENCE.match(found["value"]):
        return found[0]
    return found["name"] + HIDDEN
