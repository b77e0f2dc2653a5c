"""Counts numbered records, from Kafka to Kafka: ``numbered.py SERVERS CHECKPOINT [over]``.

It runs until it is killed. Where its records come from, and what must come of them, is in
campaign.py. With ``over`` it takes the checkpoint over from a process that still has it.
"""

from __future__ import annotations

import sys

import millstream as ms
from families import bound_to_its_test

JOB = "numbered"
NUMBERS, COPIES, COUNTS, CHANGES = TOPICS = ("numbers", "copies", "counts", "changes")
WINDOW = 5  # seconds of event time


def program(servers: str) -> ms.Pipeline:
    """Each number as it is, the numbers of each key by window, and the same, refined as they come.

    So all kinds of sinks are there: one for rows of the source, one that gets each window once, and
    one whose records take back others.
    """
    numbers = ms.read_kafka(
        NUMBERS,
        "n bigint, key string, at double",
        event_time="at",
        watermark=ms.bounded("1s"),
        servers=servers,
    )
    windows = numbers.key_by("key").window(ms.fixed(f"{WINDOW}s"))
    early = windows.trigger(ms.at_watermark(early=ms.after_count(20))).refine(ms.retracting)
    counts, changes = (
        grouped.aggregate(count=ms.count(), total=ms.sum("n"), numbers=ms.collect("n"))
        for grouped in (windows, early)
    )
    return ms.pipeline(
        numbers.write_kafka(COPIES, key="key", servers=servers, name=COPIES),
        counts.write_kafka(COUNTS, servers=servers, name=COUNTS),
        changes.write_kafka(CHANGES, servers=servers, name=CHANGES),
    )


def main(servers: str, checkpoint: str, *over: str) -> None:
    bound_to_its_test()
    program(servers).run(JOB, checkpoint=checkpoint, take_over=bool(over)).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
