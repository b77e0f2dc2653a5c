"""Settings for every test, and what several of them share."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import topics
from millstream.kafka import local
from millstream.kafka.admin.topics import delete_records
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import Position
from millstream.kafka.local.cluster import Cluster
from millstream.kafka.local.registry import STATE, forget
from millstream.system.data_directory import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Programs that tests start live for seconds: that Java compiles quickly counts for more than how
# well. `make archive` makes the archive of classes; a Java that it does not fit starts without it.
ARCHIVE = Path(__file__).parents[1] / ".cache" / "java" / "spark.jsa"
SHARED = f'"-XX:SharedArchiveFile={ARCHIVE}" -Xlog:cds*=off -Xlog:class+path*=off'
OPTIONS = f"-XX:TieredStopAtLevel=1 {SHARED if ARCHIVE.exists() else ''}".strip()
os.environ.setdefault("SPARK_SUBMIT_OPTS", OPTIONS)

# Local brokers of the tests are no business of those who run them, nor the other way round.
os.environ[STATE] = tempfile.mkdtemp(prefix="millstream-tests-")
atexit.register(shutil.rmtree, os.environ[STATE], ignore_errors=True)

# Nor are their jobs.
os.environ[DATA] = str(Path(os.environ[STATE], "data"))

# A shell without job control starts what runs in the background deaf to Ctrl-C; tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomised: a test that passed here passes everywhere, on the same examples.
settings.register_profile(
    "millstream",
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("millstream")


LONGEST = (
    "kafka/test_faults.py",
    "spark/test_jobs_survive_faults.py",
    "dstream/test_programs_agree_with_pyspark.py",
    "dstream/test_recovery.py",
    "test_examples.py",
    "cli/test_clusters.py",
    "cli/test_three_jobs.py",
    "cli/test_jobs.py",
    "test_nexmark.py",
    "kafka/test_docs.py",
    "kafka/local/test_lifecycle.py",
    "dstream/test_examples.py",
    "test_demo.py",
    "test_bench.py",
    "cli/test_documents.py",
)
"""Files that take longest, begun first: no process is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first, and leaves the others in order."""
    rank = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real Kafka of one broker, for all tests; its ``servers`` is the address for clients."""
    data = tmp_path_factory.mktemp("broker")
    cluster = local.up(port=0, data=data)
    forget(cluster.folder)  # only those find it who ask for it
    yield cluster
    local.down(data)


@pytest.fixture
def trimmed(broker: Cluster) -> str:
    """A topic of 20 records of which the first 10 are gone."""
    name = topics.new_topic(broker.servers)
    topics.put(broker.servers, name, map(str, range(20)))
    delete_records(Connection(broker.servers), name, Position("offset", 10))
    return name


@pytest.fixture(scope="session")
def spark_stops() -> Iterator[None]:
    """The Spark session that tests share ends when they are done."""
    from millstream.testing.on_spark import replay_session  # most tests need no Spark

    yield
    if replay_session.cache_info().currsize:  # those that only might need it do not start it
        replay_session().stop()
        replay_session.cache_clear()


@pytest.fixture(scope="session")
def spark(spark_stops: None) -> SparkSession:
    """The Spark session that tests share."""
    from millstream.testing.on_spark import replay_session

    return replay_session()
