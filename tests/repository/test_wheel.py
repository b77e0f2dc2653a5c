"""The built wheel is all that a user needs: the README's program runs in an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from millstream.model.errors import CODES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "millstream"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

ON_SPARK = '''
"""Counts rows of files on Spark, and reports which Millstream the driver and a worker have."""

import sys
from pathlib import Path

import millstream as ms


def where(row):
    import millstream

    return {"team": row["team"], "points": row["points"], "worker": millstream.__file__}


folder = Path(sys.argv[1])
scores = ms.read_files(
    folder / "scores", format="json", schema="team string, points int, at timestamp",
    event_time="at", bounded=True)
placed = scores.map(where, schema="team string, points int, worker string")
totals = placed.key_by("team").aggregate(total=ms.sum("points"), worker=ms.any_value("worker"))
for row in totals.collect().run("from-the-wheel").rows():
    print(row["team"], row["total"], Path(row["worker"]).parent)
print(Path(ms.__file__).parent)
'''


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints, in an environment without the clone."""
    ran = subprocess.run(
        list(map(str, command)), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def needed(requirements: list[str], extra: str = "") -> dict[str, Distribution]:
    """The installed packages that requirements name, and those that these need in turn."""
    found: dict[str, Distribution] = {}
    for requirement in map(Requirement, requirements):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            package = distribution(requirement.name)
            found[requirement.name] = package
            for chosen in ("", *requirement.extras):
                found |= needed(package.requires or [], chosen)
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps",
        "--no-build-isolation", "--wheel-dir", folder, ROOT, folder=folder,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def venv(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it asks for: linked, for Spark alone is 450 MB."""
    folder = tmp_path_factory.mktemp("user") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder.parent)
    run(
        sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet",
        "--no-index", "--no-deps", wheel, folder=folder.parent,
    )  # fmt: skip
    (site,) = folder.glob("lib/python*/site-packages")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package in needed(project["dependencies"]).values():
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(str(package.locate_file(name)))
    return folder


def test_the_wheel_holds_every_file_of_the_package_and_a_page_for_each_error(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.startswith("millstream-")}
    files = {f for f in PACKAGE.rglob("*") if f.is_file() and f.parent.name != "__pycache__"}
    assert {f"millstream/{file.relative_to(PACKAGE).as_posix()}" for file in files} <= held
    assert "millstream/py.typed" in held
    assert {code for code in CODES if any(n.endswith(f"/{code}.md") for n in held)} == set(CODES)


def test_the_environment_has_nothing_that_the_wheel_does_not_ask_for(venv: Path) -> None:
    (site,) = venv.glob("lib/python*/site-packages")
    assert not (site / "pytest").exists()
    assert not (site / "_millstream.pth").exists()


def test_the_program_of_the_readme_runs_from_the_wheel(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text((ROOT / "README.md").read_text())
    printed = run(venv / "bin" / "python", "-m", "doctest", "-v", "README.md", folder=tmp_path)
    assert re.search(r"^[1-9]\d* passed\.$|^\d+ passed and 0 failed\.$", printed, re.MULTILINE)


def test_a_job_on_spark_runs_from_the_wheel_in_driver_and_workers(
    venv: Path, tmp_path: Path
) -> None:
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "a.json").write_text(
        '{"team": "red", "points": 3, "at": "2024-05-01T12:00:10Z"}\n'
        '{"team": "red", "points": 4, "at": "2024-05-01T12:00:20Z"}\n'
    )
    (tmp_path / "program.py").write_text(ON_SPARK)
    (package,) = venv.glob("lib/python*/site-packages/millstream")
    printed = run(venv / "bin" / "python", "program.py", tmp_path, folder=tmp_path)
    assert printed.splitlines() == [f"red 7 {package}", str(package)]


def test_the_command_runs_from_the_wheel_and_shows_the_pages_of_errors(
    venv: Path, tmp_path: Path
) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version in run(venv / "bin" / "millstream", "--version", folder=tmp_path)
    page = run(venv / "bin" / "python", "-m", "millstream", "help", "MS320", folder=tmp_path)
    assert CODES["MS320"] in page
