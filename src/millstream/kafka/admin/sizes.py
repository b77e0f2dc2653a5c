"""The sizes of partitions on their brokers, in bytes.

Our client has no request for that (DescribeLogDirs), so Kafka's own tool runs, which takes a second
or two.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Collection
from tempfile import NamedTemporaryFile

from millstream.kafka.client.connection import Connection, check_reachable
from millstream.kafka.local.jars import Say, jars
from millstream.kafka.settings import java_properties
from millstream.model.errors import KafkaError
from millstream.system.java import java_command, java_runs

_TOOL = "org.apache.kafka.tools.LogDirsCommand"
_JAVA = ["-Xmx256m", "-XX:TieredStopAtLevel=1"]


def sizes(
    connection: Connection, topics: Collection[str], say: Say = lambda _: None
) -> dict[tuple[int, str], int]:
    """The bytes of each replica: by the number of its broker, and a name such as ``scores-0``."""
    check_reachable(connection)
    paths = jars("broker", say)
    say("asking brokers for sizes")
    with NamedTemporaryFile("w", suffix=".properties", encoding="utf-8") as file:
        file.write(java_properties(connection.settings))
        file.flush()
        command = [java_command(os.environ), *_JAVA, "-cp", os.pathsep.join(map(str, paths)), _TOOL]
        command += ["--describe", "--bootstrap-server", connection.servers]
        command += ["--command-config", file.name, "--topic-list", ",".join(topics)]
        with java_runs():
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    answer = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
    if answer is None:
        raise _size_error(done.stdout + done.stderr)
    return {
        (broker["broker"], replica["partition"]): replica["size"]
        for broker in json.loads(answer)["brokers"]
        for folder in broker["logDirs"]
        for replica in folder["partitions"]
        if not replica["isFuture"]  # a copy that is being moved to another disk
    }


def _size_error(output: str) -> KafkaError:
    why = next(
        (line for line in output.splitlines() if "Exception" in line or "Error" in line), output
    )
    return KafkaError(
        "MS323",
        f"the cluster did not return the sizes of topics: {why.strip()}",
        fix="leave out --size, or fix what Kafka's own tool reports",
    )
