"""The command as a whole: it starts quickly."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("pyspark", "polars", "pyarrow", "numpy", "sqlglot", "uvicorn")
"""Together these take longer to import than all else that a command does."""


def test_a_command_imports_only_what_it_needs():
    code = f"import sys, millstream.cli.main; print([n for n in {SLOW} if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
