"""A worker looks for garbage seldom."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from millstream.system.garbage import collect_rarely
collect_rarely()
before = gc.get_stats()[0]["collections"]
kept = [[] for _ in range(90_000)]
print(gc.get_stats()[0]["collections"] - before, gc.get_freeze_count() > 1000)
"""


def test_many_new_objects_are_not_looked_through_again_and_again():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "True"], done.stderr
