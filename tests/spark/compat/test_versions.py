"""Another release of Spark than the one that is needed is refused."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from millstream.model.errors import RunError
from millstream.spark.compat import versions
from millstream.spark.compat.versions import SPARK, check_pyspark, check_spark


def test_the_release_that_is_needed_is_fine():
    check_pyspark()
    check_spark(f"{SPARK}.7")


@pytest.mark.parametrize(("found", "message"), [(None, "no PySpark"), ("3.5.1", "PySpark 3.5.1")])
def test_another_pyspark_is_named(found, message):
    with (
        patch.object(versions, "installed_pyspark", lambda: found),
        pytest.raises(RunError, match=f"MS222: .*{message}"),
    ):
        check_pyspark()


def test_a_session_of_another_spark_is_named():
    with pytest.raises(RunError, match="the session is of Spark 4.20.0"):
        check_spark("4.20.0")
