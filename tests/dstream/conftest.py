"""What all tests of this folder need."""

from __future__ import annotations

import pytest

from millstream.dstream import StreamingContext


@pytest.fixture
def context(spark, tmp_path):
    """The SparkContext that tests share, with a folder for what is checkpointed."""
    spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpointed"))
    yield spark.sparkContext
    active = StreamingContext.getActive()
    if active is not None:
        active.stop(False)
