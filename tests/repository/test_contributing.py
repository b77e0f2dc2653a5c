"""CONTRIBUTING.md describes the tree as it is: its packages, its files, and the way of a record."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "millstream"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
SPANS = set(re.findall(r"`([^`\n]+)`", PROSE))
STEPS = re.findall(r"^\| (\d+) \| `([^`]+)` \| `([^`]+)` \| .+ \|$", PAGE, re.MULTILINE)

FOLDERS_WITH_PACKAGES = [SOURCE, *(SOURCE / room for room in ("engine", "kafka", "spark"))]


def packages_in(folder: Path) -> list[str]:
    """The packages directly in a folder, as the page names them."""
    found = [child.parent for child in folder.glob("*/__init__.py")]
    return [f"{package.relative_to(SOURCE).as_posix()}/" for package in sorted(found)]


def names_in(file: Path) -> set[str]:
    """The functions and classes of a module, and its classes' methods after a dot."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = [each.name for each in body if isinstance(each, ast.FunctionDef)]
                names |= {name, *(f"{name}.{method}" for method in methods)}
    return names


def paths() -> list[str]:
    """What looks like a path between backquotes: a folder, or a file of a kind that we have."""
    path = re.compile(r"[\w./-]+(/|\.(py|md|toml|lock|yaml))")
    return sorted(span for span in SPANS if path.fullmatch(span))


@pytest.mark.parametrize("path", paths())
def test_a_path_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists() or (SOURCE / path).exists()


@pytest.mark.parametrize("folder", FOLDERS_WITH_PACKAGES, ids=lambda path: path.name)
def test_every_package_is_on_the_page(folder: Path) -> None:
    assert set(packages_in(folder)) <= SPANS


def test_every_module_beside_the_packages_is_on_the_page() -> None:
    assert {file.name for file in SOURCE.glob("*.py")} <= SPANS


def test_a_record_takes_at_most_20_numbered_steps() -> None:
    numbers = [int(number) for number, _, _ in STEPS]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 10 <= len(numbers) <= 20


@pytest.mark.parametrize(("number", "file", "name"), STEPS)
def test_a_step_of_a_record_is_where_the_page_says(number: str, file: str, name: str) -> None:
    assert name in names_in(SOURCE / file)
