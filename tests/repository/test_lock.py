"""The lock files hold every dependency by version and digest, and name no package index."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==\S+.*?(?P<digests>(?: --hash=sha256:[0-9a-f]{64})+)$")


def locked(path: Path) -> dict[str, set[str]]:
    """The digests that a lock file allows, by package; fails on a line that is not such a pin."""
    text = path.read_text().replace(" \\\n   ", "")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pins = [PIN.match(line) for line in lines]
    assert None not in pins, lines[pins.index(None)]
    return {pin["name"]: set(re.findall("[0-9a-f]{64}", pin["digests"])) for pin in pins if pin}


def declared(*groups: str) -> set[str]:
    """The packages that pyproject.toml asks for, in the dependencies and the named groups."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = list(project["project"]["dependencies"] if "dev" in groups else [])
    for group in groups:
        asked += project["dependency-groups"][group]
    return {re.split("[<>=]", requirement)[0].lower() for requirement in asked}


@pytest.mark.parametrize(
    ("lock", "group"),
    [
        ("requirements.lock", "dev"),
        ("requirements-build.lock", "build"),
        ("requirements-java.lock", "java"),
    ],
)
def test_a_lock_pins_by_digest_all_that_the_project_asks_for(lock: str, group: str) -> None:
    assert declared(group) <= locked(ROOT / lock).keys()


def test_the_bundled_pip_is_the_one_that_is_locked() -> None:
    (wheel,) = (ROOT / "scripts").glob("pip-*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert digest in locked(ROOT / "requirements.lock")["pip"]
