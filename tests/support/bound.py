"""Runs a command for as long as the process of its test lives: ``bound.py COMMAND …``."""

from __future__ import annotations

import subprocess
import sys

from families import bound_to_its_test

if __name__ == "__main__":
    bound_to_its_test()
    sys.exit(subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode)
