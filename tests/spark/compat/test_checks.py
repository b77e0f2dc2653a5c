"""What Millstream reaches for behind PySpark's public names is there, or an error names it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pyspark.sql.pandas.types as pandas_types
import pytest
from py4j import java_gateway as py4j_gateway
from pyspark import SparkContext, cloudpickle, daemon, java_gateway
from pyspark.sql import SparkSession
from pyspark.sql.streaming import stateful_processor_api_client, transform_with_state_driver_worker
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

import millstream as ms
from millstream.spark.compat import (
    arrow_types,
    batch_id,
    checkpoint_files,
    driver_worker,
    gateway,
    messages,
    offset_log,
    pickler,
    remote,
    state_client,
    stopped_batch,
    worker_daemon,
)
from millstream.spark.compat.checks import IN_JVM, IN_PYTHON, OF_STREAMS, check_session
from millstream.spark.compat.jvm import jvm_of
from millstream.system.folders import Folder

SOURCE = Path(ms.__file__).parent
COMPAT = SOURCE / "spark" / "compat"

# A check, what it must find, and where that is.
ATTRIBUTES = [
    (arrow_types.check, pandas_types, "to_arrow_schema"),
    (arrow_types.check, pandas_types, "from_arrow_type"),
    (driver_worker.check, transform_with_state_driver_worker, "main"),
    (gateway.check, SparkContext, "_gateway"),
    (gateway.check, SparkContext, "_jvm"),
    (gateway.check, SparkContext, "_active_spark_context"),
    (gateway.check, SparkSession, "_instantiatedSession"),
    (gateway.check, SparkSession, "_activeSession"),
    (gateway.check, java_gateway, "Popen"),
    (gateway.check, py4j_gateway, "logger"),
    (pickler.check, cloudpickle.CloudPickler, "dispatch_table"),
    (pickler.check, cloudpickle, "list_registry_pickle_by_value"),
    (pickler.check, cloudpickle, "register_pickle_by_value"),
    (pickler.check, cloudpickle, "unregister_pickle_by_value"),
    (pickler.check, cloudpickle, "dumps"),
    (
        state_client.check,
        stateful_processor_api_client.StatefulProcessorApiClient,
        "set_handle_state",
    ),
    (worker_daemon.check, daemon, "worker"),
    (worker_daemon.check, daemon, "manager"),
]

# A check, and the constant of its module that names something in Spark.
NAMES = [
    (checkpoint_files.check, checkpoint_files, "FILE_MANAGER", "org.apache.spark.NoManager"),
    (batch_id.check, batch_id, "_PROPERTY", "streaming.sql.noId"),
    (batch_id.check, batch_id, "_HOLDER", "org.apache.spark.sql.NoExecution"),
    (offset_log.check, offset_log, "_CLOCK", "noTimestampMs"),
    (offset_log.check, offset_log, "_SETTINGS", "org.apache.spark.sql.NoMetadata"),
    (stopped_batch.check, stopped_batch, "_HOLDER", "org.apache.spark.sql.NoStream"),
]


@pytest.mark.parametrize("check", IN_PYTHON, ids=lambda check: check.__module__)
def test_what_python_has_is_there(check):
    check()


@pytest.mark.parametrize("check", IN_JVM + OF_STREAMS, ids=lambda check: check.__module__)
def test_what_the_jvm_has_is_there(check, spark):
    check(jvm_of(spark))


@pytest.mark.parametrize(("check", "owner", "name"), ATTRIBUTES)
def test_an_attribute_that_is_gone_is_named_with_the_version(check, owner, name, monkeypatch):
    monkeypatch.delattr(owner, name)
    with pytest.raises(ms.MillstreamError, match=rf"MS222: PySpark 4\.2\.\d+ has .*{name}, which"):
        check()


def test_a_handle_that_keeps_its_client_elsewhere_is_noticed(monkeypatch):
    def keeps_it_elsewhere(self, client):
        self.client = client

    monkeypatch.setattr(StatefulProcessorHandle, "__init__", keeps_it_elsewhere)
    with pytest.raises(ms.MillstreamError, match=r"MS222: .*_statefulProcessorApiClient"):
        state_client.check()


def test_arrow_types_without_a_zone_are_noticed(monkeypatch):
    monkeypatch.setattr(pandas_types, "to_arrow_schema", lambda schema: None)
    with pytest.raises(ms.MillstreamError, match=r"MS222: .*the timezone of .*to_arrow_schema"):
        arrow_types.check()


@pytest.mark.parametrize("module", [remote, worker_daemon])
def test_a_module_that_is_gone_is_named(module, monkeypatch):
    monkeypatch.setattr(module, "has_module", lambda name: False)
    with pytest.raises(ms.MillstreamError, match=r"MS222: .* pyspark\.sql\."):
        module.check()


@pytest.mark.parametrize(("check", "module", "constant", "gone"), NAMES)
def test_a_name_that_java_does_not_have_is_named(check, module, constant, gone, monkeypatch, spark):
    monkeypatch.setattr(module, constant, gone)
    with pytest.raises(ms.MillstreamError, match=rf"MS222: .*{re.escape(gone)}"):
        check(jvm_of(spark))


def test_a_batch_that_was_stopped_and_reads_otherwise_is_noticed(monkeypatch, spark):
    monkeypatch.setattr(stopped_batch, "INTERRUPTED", "a batch was stopped")
    with pytest.raises(ms.MillstreamError, match=r"MS222: .*PROXY_ERROR"):
        stopped_batch.check(jvm_of(spark))


@pytest.mark.parametrize("sample", messages._SAMPLES, ids=lambda sample: sample[1])
def test_a_message_that_reads_otherwise_is_named(sample, monkeypatch, spark):
    other = (re.compile("what Spark never writes"), *sample[1:])
    monkeypatch.setattr(messages, "_SAMPLES", (other,))
    with pytest.raises(ms.MillstreamError, match=rf"MS222: .*the error {re.escape(sample[1])}"):
        messages.check(jvm_of(spark))
    monkeypatch.setattr(messages, "_SAMPLES", ((sample[0], "NO_SUCH_CONDITION", {}),))
    with pytest.raises(ms.MillstreamError, match="MS222: .*the error NO_SUCH_CONDITION"):
        messages.check(jvm_of(spark))


def test_a_session_that_starts_is_checked(spark, monkeypatch):
    check_session(spark, streaming=True)
    monkeypatch.delattr(daemon, "worker")
    with pytest.raises(ms.MillstreamError, match="MS222"):
        check_session(spark, streaming=True)


def test_an_entry_of_the_offset_log_is_read_and_written_as_spark_has_it(tmp_path):
    text = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{}}\n{"scores":{"0":7}}\n-'
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "3").write_text(text)
    place = Folder.of("job", str(tmp_path))
    entry = offset_log.entry_of(place, 3)
    assert (entry.clock, entry.offsets) == (5, ('{"scores":{"0":7}}', "-"))
    assert str(entry) == text
    assert offset_log.last_batch(place, offset_log.OFFSETS) == 3
    assert offset_log.last_batch(place, offset_log.COMMITS) is None
    assert offset_log.is_entry(text)
    assert not offset_log.is_entry("")


def private_names_of_spark(file: Path) -> set[str]:
    """The modules of PySpark that a file imports and that are not public, and Py4J's."""
    private = re.compile(
        r"py4j|pyspark\.(daemon|worker|java_gateway|cloudpickle|testing|sql\.pandas\.types"
        r"|sql\.streaming\.(proto|stateful_processor_api_client|transform_with_state))"
    )
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {each.name for each in names}
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module, *(f"{module}.{each.name}" for each in names)}
    return {name for name in found if private.match(name)}


def test_only_the_compat_room_reaches_behind_the_public_names_of_pyspark():
    files = [file for file in SOURCE.rglob("*.py") if COMPAT not in file.parents]
    found = {str(file.relative_to(SOURCE)): private_names_of_spark(file) for file in files}
    assert {file: names for file, names in found.items() if names} == {
        # Which errors are Py4J's, is for the driver to know.
        "spark/driver/gateway.py": {
            "py4j.protocol",
            "py4j.protocol.Py4JError",
            "py4j.protocol.Py4JJavaError",
            "py4j.protocol.Py4JNetworkError",
        }
    }
