"""What is not where it is expected is named."""

from __future__ import annotations

import pathlib

import pytest

from millstream.model.errors import RunError
from millstream.spark.compat.moved import reach


def test_what_is_there_is_found():
    assert reach(pathlib, "Path", "cwd") == pathlib.Path.cwd


def test_what_is_not_there_is_an_error_that_names_it():
    with pytest.raises(RunError, match="MS222: PySpark .* pathlib.Path.nothing"):
        reach(pathlib, "Path", "nothing")
