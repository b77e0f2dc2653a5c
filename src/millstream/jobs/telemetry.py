"""The metrics of a job for OpenTelemetry, if the program has configured that.

Millstream sends nothing anywhere by itself. If the program, or the agent that starts it, has
installed OpenTelemetry and set a meter provider, that asks for these values when it exports them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

from millstream.jobs.prometheus import OF_JOBS, OF_STEPS
from millstream.reports.tracker import Tracker

_observed: WeakValueDictionary[str, Tracker] = WeakValueDictionary()
"""The jobs of this process that somebody still refers to, by name."""


def observe(job: str, tracker: Tracker) -> None:
    """Has a job's values observed by the meter provider, if OpenTelemetry is installed."""
    if _instruments():
        _observed[job] = tracker


@cache
def _instruments() -> bool:
    """Makes what a provider observes, once; whether there is OpenTelemetry.

    Without a provider these instruments do nothing.
    """
    try:
        from opentelemetry import metrics
    except ImportError:
        return False
    meter = metrics.get_meter("millstream")

    def of_jobs(field: str) -> Iterator[metrics.Observation]:
        for job, tracker in list(_observed.items()):
            value = tracker.progress().to_dict()[field]
            if value is not None:
                yield metrics.Observation(value, {"job": job})

    def of_steps(field: str) -> Iterator[metrics.Observation]:
        for job, tracker in list(_observed.items()):
            for step in tracker.progress().to_dict()["steps"]:
                if step[field] is not None:
                    yield metrics.Observation(step[field], {"job": job, "step": step["id"]})

    for known, values in ((OF_JOBS, of_jobs), (OF_STEPS, of_steps)):
        for name, (field, kind, about) in known.items():
            observed = partial(_observations, values, field)
            _create(meter, kind)(_name(name), [observed], description=about)
    return True


def _observations(values: Callable[[str], Iterator[Any]], field: str, _: Any) -> Iterator[Any]:
    return values(field)


def _create(meter: Any, kind: str) -> Callable[..., Any]:
    made: Callable[..., Any] = (
        meter.create_observable_counter if kind == "counter" else meter.create_observable_gauge
    )
    return made


def _name(metric: str) -> str:
    """A name as OpenTelemetry has them.

    >>> _name("step_rows_in_total"), _name("watermark_lag_seconds")
    ('millstream.job.step_rows_in', 'millstream.job.watermark_lag_seconds')
    """
    return f"millstream.job.{metric.removesuffix('_total')}"
