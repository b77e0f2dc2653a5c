"""What ``pyspark.streaming`` has is here under the same names, and in the docs."""

from __future__ import annotations

import inspect
from pathlib import Path

import pyspark.streaming
import pyspark.streaming.kinesis
import pytest

import millstream.dstream
import millstream.dstream.context
import millstream.dstream.dstream
import millstream.dstream.kinesis
import millstream.dstream.listener
from millstream.dstream import DStream, StreamingContext, StreamingListener
from millstream.model.errors import PlanError

DOCS = Path(__file__).parents[2] / "docs" / "dstreams.md"


def methods(class_: type) -> set[str]:
    return {name for name in vars(class_) if not name.startswith("_") and name != "Java"}


@pytest.mark.parametrize("name", pyspark.streaming.__all__)
def test_each_method_takes_arguments_of_the_same_names(name):
    ours, theirs = getattr(millstream.dstream, name), getattr(pyspark.streaming, name)
    assert methods(theirs)
    for method in methods(theirs) - {"sparkContext", "onBatchStarted"}:
        taken, given = (
            [*inspect.signature(getattr(each, method)).parameters] for each in (ours, theirs)
        )
        assert taken == given, method
    # A property, and a method whose argument has the name of another one's in PySpark.
    assert all(hasattr(ours, each) for each in methods(theirs))


@pytest.mark.parametrize("name", ["StreamingContext", "DStream"])
def test_each_method_is_in_the_tables_of_the_docs(name):
    _, _, table = DOCS.read_text().partition(f"| `{name}` |")
    table, _, _ = table.partition("\n\n")
    missing = {
        each for each in methods(getattr(pyspark.streaming, name)) if f"`{each}`" not in table
    }
    assert not missing


def test_modules_have_the_names_that_programs_import():
    assert millstream.dstream.context.StreamingContext is StreamingContext
    assert millstream.dstream.dstream.DStream is DStream
    assert millstream.dstream.listener.StreamingListener is StreamingListener
    theirs = pyspark.streaming.kinesis
    for name in theirs.__all__:
        assert hasattr(millstream.dstream.kinesis, name)
    for name in ("InitialPositionInStream", "MetricsLevel"):
        ours = vars(getattr(millstream.dstream.kinesis, name))
        assert {key: ours[key] for key in ours if key.isupper()} == {
            key: value for key, value in vars(getattr(theirs, name)).items() if key.isupper()
        }


def test_kinesis_is_refused():
    with pytest.raises(PlanError, match="Kinesis cannot be read") as raised:
        millstream.dstream.kinesis.KinesisUtils.createStream(None, "app", "stream")
    assert raised.value.code == "MS129"
