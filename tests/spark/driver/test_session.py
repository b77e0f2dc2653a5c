"""How a session is made; what one that is given must have, the other tests of this folder show."""

from __future__ import annotations

import pytest

from millstream.spark.driver.session import java_options

SIMPLE = "-XX:+UseSerialGC"


def test_on_few_cores_the_collector_has_no_threads_of_its_own():
    assert SIMPLE in java_options(1, False, {})
    assert SIMPLE in java_options(2, True, {})
    assert SIMPLE not in java_options(3, False, {})


@pytest.mark.parametrize("name", ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "PYSPARK_SUBMIT_ARGS"])
def test_a_collector_that_the_environment_names_is_left_alone(name):
    # Java does not start if it is given two of them.
    assert SIMPLE not in java_options(2, False, {name: "-Xmx1g -XX:+UseParallelGC"})
    assert SIMPLE in java_options(2, False, {name: "-Xmx1g"})
