"""Checks whether another program can continue with the state of a job."""

from __future__ import annotations

from millstream.jobs.registry.entries import JobEntry
from millstream.plan.nodes import Node


def check_upgrade(job: JobEntry, sinks: tuple[Node, ...]) -> None:
    """MS207 if a program cannot; the message has the differences."""
    from millstream.physical.plan import physical
    from millstream.spark.driver.checkpoint import check_resumes

    check_resumes(job.name, job.checkpoint, physical(sinks))
