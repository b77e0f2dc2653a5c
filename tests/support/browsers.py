"""A browser for tests of pages: the Chromium of the system, installed where that can be done."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",  # which root cannot have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@cache
def chromium() -> str:
    """Where Chromium is. Root on Debian installs it; others are asked to."""
    if _found() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(
                ["apt-get", "-qq", *arguments], env=environment, capture_output=True, check=False
            )
        if _found() is None:
            pytest.fail("Chromium cannot be installed: run 'apt-get install chromium' to see why")
    found = _found()
    if found is None:
        pytest.skip(
            "the pages are tested in Chromium: install it (as root: apt-get install chromium)"
        )
    return found


def _found() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)
