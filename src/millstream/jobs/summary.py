"""What a job did, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.model.amounts import counted
from millstream.reports.progress import Progress

LISTED = 5
"""How many sinks or steps are named one by one."""


def summary(progress: Progress) -> str:
    """What a job did, in a sentence."""
    wrote = [f"{counted(rows, 'row')} to {sink!r}" for sink, rows in progress.written.items()]
    parts = [f"read {counted(progress.rows, 'row')} in {batches(progress)}"]
    parts += [f"wrote {_listed(wrote)}"] if wrote else []
    parts.append(with_steps(f"{progress.late:,} late", progress.late_by_step))
    parts.append(with_steps(f"{progress.rejected:,} rejected", progress.rejected_by_step))
    return ", ".join(parts)


def batches(progress: Progress) -> str:
    """How many batches have ended."""
    return counted(progress.batches, "batch", "batches")


def with_steps(total: str, by_step: Mapping[str, int]) -> str:
    """The total, and if several steps could have added to it, the counts of those that did."""
    counts = {step: count for step, count in by_step.items() if count}
    if not counts or len(by_step) == 1:
        return total
    if len(counts) == 1:
        return f"{total} in {next(iter(counts))!r}"
    return f"{total} ({_listed([f'{count:,} in {step!r}' for step, count in counts.items()])})"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - LISTED
    *first, last = [*items[:LISTED], *([f"{more} more"] if more > 0 else [])]
    return f"{', '.join(first)} and {last}" if first else last
