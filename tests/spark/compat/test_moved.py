"""What is not where it is expected is named."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from millstream.model.errors import RunError
from millstream.spark.compat.moved import reach


def test_what_is_there_is_found():
    assert reach(pathlib, "Path", "cwd") == pathlib.Path.cwd


def test_what_is_not_there_is_an_error_that_names_it():
    with pytest.raises(RunError, match="MS222: PySpark .* pathlib.Path.nothing"):
        reach(pathlib, "Path", "nothing")


def test_a_module_is_found_without_importing_the_packages_that_it_is_in():
    look = """
import sys
from millstream.spark.compat.moved import has_module
print(has_module("pyspark.testing.utils"), has_module("pyspark.testing.none"), has_module("none"))
print("pyspark.testing" in sys.modules)
"""
    made = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
    assert made.stdout.split() == ["True", "False", "False", "False"]
