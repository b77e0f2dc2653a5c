"""Which accumulator folds which aggregate."""

from __future__ import annotations

from millstream.engine.grouping import accumulators, sketches
from millstream.engine.grouping.accumulators import Accumulator
from millstream.model import aggregates as described
from millstream.model.aggregates import Aggregate


def accumulator(aggregate: Aggregate, name: str, of: str | None) -> Accumulator | None:
    """What folds the aggregate; None for one that needs the elements themselves."""
    match aggregate:
        case described.Count():
            return accumulators.Count(name, of)
        case described.Sum():
            return accumulators.Sum(name, of)
        case described.Min() | described.AnyValue():
            return accumulators.Extreme(name, of, greatest=False)
        case described.Max():
            return accumulators.Extreme(name, of, greatest=True)
        case described.Mean():
            return accumulators.Mean(name, of)
        case described.Variance():
            return accumulators.Variance(name, of, root=False)
        case described.Stddev():
            return accumulators.Variance(name, of, root=True)
        case described.First():
            return accumulators.Edge(name, of, latest=False)
        case described.Last():
            return accumulators.Edge(name, of, latest=True)
        case described.ApproxDistinct():
            return sketches.Distinct(name, of)
        case described.ApproxQuantile(q=q):
            return sketches.Quantile(name, of, q)
    return None
