"""Classes of Spark are found by name, or an error names them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError

from millstream.model.errors import RunError
from millstream.spark.compat.jvm import error_message, java_class, java_object, jvm_of

LOADER = "org.apache.spark.util.Utils"
ERRORS = "org.apache.spark.SparkThrowableHelper"


class Jvm:
    """A JVM that knows two classes; any other name is a package to Py4J."""

    def __getattr__(self, name):
        if name == LOADER:
            return SimpleNamespace(classForName=self.found)
        if name == ERRORS:
            return SimpleNamespace(getMessage=self.message)
        return JavaPackage(name, None)

    def found(self, name, initialize, no_spark_loader):
        assert not initialize
        if not name.startswith("known."):
            raise Py4JError
        return f"class {name}"

    def message(self, condition, parameters):
        if condition != "KNOWN":
            raise Py4JError
        return f"{condition} {parameters}"


def test_a_class_is_found_without_running_anything_of_it():
    assert java_class(Jvm(), "known.Thing") == "class known.Thing"


def test_a_message_has_its_parameters():
    assert error_message(Jvm(), "KNOWN", path="/in") == "KNOWN {'path': '/in'}"


@pytest.mark.parametrize(
    ("act", "name"),
    [
        (lambda: java_object(Jvm(), "no.such.Helper"), "no.such.Helper"),
        (lambda: java_class(Jvm(), "no.such.Thing"), "no.such.Thing"),
        (lambda: error_message(Jvm(), "NO_SUCH_ERROR"), "NO_SUCH_ERROR"),
        (lambda: jvm_of(SimpleNamespace(sparkContext=SimpleNamespace())), "_jvm"),
    ],
)
def test_what_is_not_there_is_named(act, name):
    with pytest.raises(RunError, match=f"MS222.*{name}"):
        act()
