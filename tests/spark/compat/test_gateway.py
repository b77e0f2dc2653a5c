"""What PySpark keeps of its JVM can be replaced and forgotten."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from py4j import java_gateway as py4j_gateway
from pyspark import SparkContext, java_gateway
from pyspark.sql import SparkSession

from millstream.spark.compat import gateway


@pytest.fixture
def jvm(monkeypatch):
    """A context whose JVM has ended: it cannot be shut down."""
    done = []

    def shutdown():
        done.append("shutdown")
        raise ConnectionRefusedError

    context = SimpleNamespace(_jsc="jsc", stop=lambda: done.append(f"stop {context._jsc}"))
    made = SimpleNamespace(proc="process", shutdown=shutdown)
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    monkeypatch.setattr(SparkContext, "_gateway", made)
    monkeypatch.setattr(SparkContext, "_jvm", "jvm")
    monkeypatch.setattr(SparkSession, "_instantiatedSession", "session")
    monkeypatch.setattr(SparkSession, "_activeSession", "session")
    return done


def test_a_jvm_that_has_ended_is_forgotten_whatever_it_raises(jvm):
    assert gateway.has_context()
    assert gateway.jvm_process() == "process"
    gateway.forget_jvm()
    assert jvm == ["shutdown", "stop None"], "nothing is asked of the JVM any more"
    assert gateway.jvm_process() is None
    assert SparkContext._jvm is None
    assert SparkSession._instantiatedSession is None
    assert SparkSession._activeSession is None


def test_what_starts_processes_is_replaced_for_a_while():
    popen = java_gateway.Popen
    with gateway.starting_by(lambda given: (given, "ours")):
        assert java_gateway.Popen == (popen, "ours")
    assert java_gateway.Popen is popen


def test_a_session_ends_without_tracebacks_and_runs_workers_by_another_command(monkeypatch):
    monkeypatch.setattr(py4j_gateway, "logging", logging)
    server = SimpleNamespace(handle_error=print)
    context = SimpleNamespace(_accumulatorServer=server, pythonExec="python")
    session = SimpleNamespace(sparkContext=context)
    gateway.end_quietly(session)
    assert py4j_gateway.logging is py4j_gateway.logger
    assert server.handle_error("request", "address") is None
    gateway.run_workers_by(session, "another")
    assert context.pythonExec == "another"
