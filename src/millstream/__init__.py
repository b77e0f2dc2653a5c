"""Millstream: the Dataflow model for Python, on Spark Structured Streaming, over Kafka.

what is computed          aggregate(total=ms.sum("points"))
where in event time       window(ms.fixed("2m"))
when in processing time   trigger(ms.at_watermark(early=ms.every("1m")))
how refinements relate    refine(ms.retracting)
"""

from millstream.joins import cogroup
from millstream.model.aggregates import (
    any_value,
    approx_distinct,
    approx_quantile,
    collect,
    collect_set,
    combine,
    count,
    count_distinct,
    first,
    last,
    max,
    mean,
    min,
    quantile,
    stddev,
    sum,
    top,
    variance,
)
from millstream.model.clock_windows import processing_time
from millstream.model.errors import KafkaError, MillstreamError, PlanError, RunError
from millstream.model.ordered_windows import count_window, delta_window, punctuated_window
from millstream.model.processors import Processor, timer, ttl
from millstream.model.refinements import accumulating, discarding, retracting
from millstream.model.secrets import secret
from millstream.model.triggers import (
    after_count,
    after_delay,
    all_of,
    at_watermark,
    every,
    first_of,
    in_order,
    never,
    repeatedly,
)
from millstream.model.watermarks import ascending, bounded, punctuated
from millstream.model.windows import calendar, fixed, global_window, session, sliding
from millstream.pipeline import Pipeline, pipeline
from millstream.sources import (
    from_dataframe,
    from_rows,
    read_files,
    read_kafka,
    read_rate,
    read_socket,
)
from millstream.stream import Stream, union

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "KafkaError",
    "MillstreamError",
    "Pipeline",
    "PlanError",
    "Processor",
    "RunError",
    "Stream",
    "__version__",
    "accumulating",
    "after_count",
    "after_delay",
    "all_of",
    "any_value",
    "approx_distinct",
    "approx_quantile",
    "ascending",
    "at_watermark",
    "bounded",
    "calendar",
    "cogroup",
    "collect",
    "collect_set",
    "combine",
    "count",
    "count_distinct",
    "count_window",
    "delta_window",
    "discarding",
    "every",
    "first",
    "first_of",
    "fixed",
    "from_dataframe",
    "from_rows",
    "global_window",
    "in_order",
    "last",
    "max",
    "mean",
    "min",
    "never",
    "pipeline",
    "processing_time",
    "punctuated",
    "punctuated_window",
    "quantile",
    "read_files",
    "read_kafka",
    "read_rate",
    "read_socket",
    "repeatedly",
    "retracting",
    "secret",
    "session",
    "sliding",
    "stddev",
    "sum",
    "timer",
    "top",
    "ttl",
    "union",
    "variance",
]
