"""The program of the demo: that of the README, with times that fit into a minute."""

from __future__ import annotations

import millstream as ms

LATENESS = 20.0
"""Seconds for which a window accepts scores after the watermark has passed its end."""


def team_totals(servers: str | None = None) -> ms.Pipeline:
    """Totals of each team, every ten seconds of event time, written to a topic exactly once.

    ``millstream run examples/demo/program.py`` runs it on the brokers of this folder.
    """
    scores = ms.read_kafka(
        "scores", schema="user string, team string, points int, at timestamp",
        event_time="at", watermark=ms.bounded("1s", idle="5s"), servers=servers, name="scores",
    )  # fmt: skip
    totals = (
        scores.key_by("team")
        .window(ms.fixed("10s"), allowed_lateness=LATENESS)                          # where
        .trigger(ms.at_watermark(early=ms.every("5s"), late=ms.after_count(1)))      # when
        .refine(ms.retracting)                                                       # how
        .aggregate(total=ms.sum("points"), players=ms.count_distinct("user"), scores=ms.count())
    )  # fmt: skip
    return ms.pipeline(
        totals.write_kafka("totals", servers=servers, name="totals"), totals.late.collect("late")
    )
