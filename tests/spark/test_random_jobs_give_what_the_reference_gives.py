"""Random programs, run as streaming jobs over files, write the rows that the reference gives."""

from __future__ import annotations

import pytest

from random_jobs import RandomJob


@pytest.mark.parametrize("seed", range(1, 4))
def test_each_of_twelve_programs_writes_the_rows_of_the_reference(seed, tmp_path, spark):
    job = RandomJob(seed, programs=12)
    job.write(tmp_path)
    assert not job.differences(job.pipeline(tmp_path), f"random-{seed}", spark)
