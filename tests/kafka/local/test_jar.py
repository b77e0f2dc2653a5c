"""Which jars are pinned."""

from __future__ import annotations

from millstream.kafka.local.jar import Jar, pinned


def test_every_jar_is_pinned_by_revision_and_sum_and_has_a_file_of_its_own():
    every = {*pinned("broker"), *pinned("connector")}
    assert len({jar.file for jar in every}) == len(every)
    assert all(isinstance(jar, Jar) and len(jar.sha256) == 64 for jar in every)
