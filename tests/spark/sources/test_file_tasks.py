"""A job that is resumed reads files in the tasks that it began with."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from millstream.model.errors import RunError
from millstream.spark.sources.file_tasks import TASKS, file_task_settings, keep_file_tasks

BYTES = "spark.sql.files.maxPartitionBytes"
PARALLELISM = "spark.sql.leafNodeDefaultParallelism"


class Session:
    """A session with these settings, on so many cores."""

    def __init__(self, cores=4, **settings):
        self.settings = dict(settings)
        self.sparkContext = SimpleNamespace(defaultParallelism=cores)
        self.conf = SimpleNamespace(
            get=self.settings.get, set=self.settings.__setitem__, unset=self.settings.pop
        )


def test_the_number_of_tasks_is_the_setting_or_what_spark_makes_without_one():
    assert file_task_settings(Session()) == {TASKS: "4"}
    assert file_task_settings(Session(**{PARALLELISM: "6"})) == {TASKS: "6"}
    settings = {TASKS: "3", BYTES: "100"}
    assert file_task_settings(Session(**settings)) == settings


def test_a_session_of_our_own_is_set_up_as_the_job_began():
    session = Session(cores=8, **{BYTES: "100", "spark.sql.files.maxPartitionNum": "9"})
    keep_file_tasks(session, {TASKS: "4", BYTES: "200"}, ours=True)
    assert session.settings == {TASKS: "4", BYTES: "200"}


def test_a_session_of_the_user_is_refused_with_what_to_set():
    kept = {TASKS: "4"}
    keep_file_tasks(Session(cores=4), kept, ours=False)
    with pytest.raises(RunError, match="MS206") as caught:
        keep_file_tasks(Session(cores=8, **{BYTES: "100"}), kept, ours=False)
    assert f'spark.conf.set("{TASKS}", "4"); spark.conf.unset("{BYTES}")' in caught.value.fix
