"""A meter provider that a program has set gets the values of its jobs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import millstream as ms

reader = InMemoryMetricReader()
if {provided}:
    metrics.set_meter_provider(MeterProvider([reader]))
rows = ms.from_rows([("red", 3), ("blue", 4), ("red", 5)], schema="team string, points int")
totals = rows.key_by("team").aggregate(total=ms.sum("points")).named("totals").collect("all")
for name in ("first", "second"):
    job = totals.run(name)
    first = job if name == "first" else first
found = reader.get_metrics_data() if {provided} else None
for resource in found.resource_metrics if found else ():
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            for point in metric.data.data_points:
                attributes = dict(point.attributes)
                step = attributes.get("step")
                print(type(metric.data).__name__, metric.name, attributes["job"], step, point.value)
"""


def printed(provided: bool) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(provided=provided)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "already" not in ran.stderr  # each instrument is made once
    return ran.stdout.splitlines()


def test_a_provider_observes_all_jobs_of_the_process():
    lines = printed(provided=True)
    assert "Sum millstream.job.rows first None 3" in lines
    assert "Sum millstream.job.rows second None 3" in lines
    assert "Sum millstream.job.step_rows_out second totals 2" in lines
    assert "Gauge millstream.job.step_state_rows first totals 0" in lines


def test_without_a_provider_nothing_is_observed():
    assert printed(provided=False) == []
