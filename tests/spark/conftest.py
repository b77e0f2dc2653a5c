"""What all tests of this folder need."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _stopped_at_the_end(spark_stops):
    """Many of them start Spark by themselves."""
