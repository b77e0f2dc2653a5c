"""What ``millstream run`` finds in a file, and what it reports about one that it cannot use."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

from millstream.cli.application import Application
from millstream.model.errors import PlanError, RunError

_numbers = count()

ONE = "numbers = ms.from_rows([(1,), (2,)], schema='n int')\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes an application file under a name of its own."""
    monkeypatch.setattr(sys, "path", ["", *sys.path])

    def write(text):
        file = tmp_path / f"application_{next(_numbers)}.py"
        file.write_text(f"from __future__ import annotations\nimport millstream as ms\n{text}")
        return file

    return write


def test_the_only_pipeline_of_a_file_is_found(write):
    file = write(f"{ONE}big = numbers.filter('n > 1').collect('big')\n")
    assert repr(Application(file).pipeline({})) == "<Pipeline: 'big'>"
    assert Application(file).job_name == file.stem


def test_of_several_one_is_named(write):
    text = f"{ONE}big = numbers.collect('big')\ndef small() -> ms.Pipeline:\n    return big\n"
    file = write(text)
    with pytest.raises(RunError, match="MS227.*has 2 pipelines") as caught:
        Application(file).pipeline({})
    assert f"{file}:big or {file}:small" in caught.value.fix
    file = write(text)
    assert repr(Application(file, "small").pipeline({})) == "<Pipeline: 'big'>"
    file = write(text)
    with pytest.raises(RunError, match="MS227.*no pipeline 'bog'") as caught:
        Application(file, "bog").pipeline({})
    assert "did you mean 'big'?" in caught.value.fix


def test_functions_get_settings_in_the_types_of_their_arguments(write, monkeypatch):
    monkeypatch.setenv("SOME_PASSWORD", "hush")
    file = write(
        "from pathlib import Path\n"
        "got = {}\n"
        "def totals(n: int, share: float, on: bool, at: Path, word: str | None = None, other='x')"
        " -> ms.Pipeline:\n"
        "    got.update(locals())\n"
        f"    {ONE}    return numbers.collect()\n"
    )
    given = {"n": "3", "share": "0.5", "on": "true", "at": "/data", "word": "${env:SOME_PASSWORD}"}
    Application(file).pipeline(given)
    got = sys.modules[file.stem].got
    expected = {"n": 3, "share": 0.5, "on": True, "at": Path("/data"), "word": "hush", "other": "x"}
    assert {name: got[name] for name in expected} == expected
    assert "hush" not in repr(got)


TOTALS = f"def totals(n: int) -> ms.Pipeline:\n    {ONE}    return numbers.collect()\n"


@pytest.mark.parametrize(
    ("text", "settings", "what", "fix"),
    [
        ("", {}, "has no pipeline", "def totals() -> ms.Pipeline"),
        ("import no_such_module\n", {}, "it does not import: ModuleNotFoundError", "line 3"),
        ("1 / 0\n", {}, "it does not import: ZeroDivisionError: division by zero", ""),
        ("raise SystemExit(3)\n", {}, "it does not import: SystemExit: 3", ""),
        ("x = (\n", {}, "it does not import: SyntaxError", ""),
        (TOTALS, {}, "needs n", "--set n=…"),
        (TOTALS, {"n": "many"}, "--set n=many is no int", "another value"),
        (TOTALS, {"n": "1", "m": "2"}, "has no argument 'm'", "use one of: n"),
        (f"{ONE}all = numbers.collect()\n", {"n": "1"}, "takes no settings such as 'n'", ""),
        ("def totals() -> ms.Pipeline:\n    return 5\n", {}, "returned no pipeline, but 5", ""),
        ("def totals() -> ms.Pipeline:\n    1 / 0\n", {}, "totals() failed: ZeroDivision", ""),
    ],
)
def test_what_cannot_be_run_is_an_error_with_the_reason(write, text, settings, what, fix):
    file = write(text)
    with pytest.raises(RunError, match="MS227") as caught:
        Application(file).pipeline(settings)
    assert what in caught.value.what
    assert fix in caught.value.fix or fix in caught.value.what


def test_an_error_of_the_plan_stays_what_it_is(write):
    with pytest.raises(PlanError, match="MS101"):
        Application(write("ms.fixed('ten minutes')\n")).pipeline({})


def test_a_file_that_does_not_exist_or_hides_another_module_is_an_error(tmp_path):
    with pytest.raises(RunError, match="MS227: there is no file"):
        Application(tmp_path / "missing.py").pipeline({})
    (tmp_path / "json.py").write_text("")
    with pytest.raises(RunError, match="MS227.*'json'"):
        Application(tmp_path / "json.py").pipeline({})
