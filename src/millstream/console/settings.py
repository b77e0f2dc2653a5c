"""How the console is opened: where it listens, who may see it, and what it may change."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from millstream.model.errors import RunError

_SHORTEST = 16  # characters of a token


@dataclass(frozen=True)
class Settings:
    """What the options of ``millstream console`` say. Beyond this machine it needs both a token
    and a certificate.
    """

    host: str = "127.0.0.1"
    port: int = 8265
    token: str | None = field(default=None, repr=False)
    cert: Path | None = None
    key: Path | None = None
    read_only: bool = False
    data: Path | None = None
    """The data directory; None for that of the environment."""
    csrf: str = field(default_factory=lambda: token_urlsafe(24), repr=False)

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise _error("a certificate needs its key", "give both: --cert FILE --key FILE")
        for file in (self.cert, self.key):
            if file is not None and not os.access(file, os.R_OK):
                raise _error(f"{str(file)!r} cannot be read", "name a PEM file of this user")
        if not self.is_local and (self.token is None or self.cert is None):
            raise _error(
                f"at {self.host!r} others could reach the console without a token or encryption",
                "leave --host out, and reach it through ssh -L; or give --token-file FILE, --cert "
                "FILE and --key FILE",
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        return "http" if self.cert is None else "https"


def read_token(file: Path) -> str:
    """The token in a file; MS330 if that is no secret."""
    try:
        token = file.read_text(encoding="utf-8").strip()
        mode = file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise _error(
            f"the token file {str(file)!r} cannot be read: {error}", "name another file"
        ) from error
    if mode & 0o077:
        raise _error(
            f"others can read the token file {str(file)!r}",
            f"make it yours alone: chmod 600 {file}",
        )
    if len(token) < _SHORTEST or not token.isascii() or any(map(str.isspace, token)):
        raise _error(
            f"the token in {str(file)!r} is no line of {_SHORTEST} or more characters of ASCII",
            f"make one: (umask 077; openssl rand -hex 32 > {file})",
        )
    return token


def _error(what: str, fix: str) -> RunError:
    return RunError("MS330", what, fix=fix)
