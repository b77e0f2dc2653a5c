"""How much is measured: the full size, or a small one to check that it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Rows, keys and batches of the measurements."""

    rows: int = 1_000_000
    """In a micro-batch."""
    records: int = 600_000
    """In a micro-batch from Kafka: 3,000,000 in those that count."""
    few_keys: int = 1_000
    some_keys: int = 100_000
    many_keys: int = 1_000_000
    live_keys: int = 10_000_000
    fewer_live_keys: int = 100_000
    join_rows: int = 5_000_000
    fewer_join_rows: int = 50_000
    sliding_keys: int = 100
    large_batches: int = 100
    """How many micro-batches are one large batch: 100,000,000 rows."""
    touched: int = 10_000
    """Keys in a batch while many are live, or in the state of a join."""
    warm_up: int = 2
    """Batches that do not count: the JVM still compiles, and Spark closes no windows yet."""
    long_warm_up: int = 12
    """The same for short batches, of which the JVM needs more to compile its code."""
    idles: int = 25
    """Batches without data, of which the last ones count."""
    steady: int = 5
    """Batches that count."""
    touches: int = 9
    """Batches of touched keys that count; more than the others, since some merge for many."""
    rounds: int = 3
    """Starts of which the first batch is measured."""

    jobs: int = 1_000
    """In the registry that the console shows."""
    partitions: int = 10_000
    """Of the topic that it shows."""

    rate: int = 5_000
    """Records a second, where latency is measured."""
    rate_seconds: int = 20
    """How long a turn is there."""
    rate_margin: int = 2
    """Seconds at either end of a turn that do not count: a stopped process wakes up, and Spark's
    readers wait when no more records arrive."""
    rate_warm_up: int = 6
    """Turns that do not count."""
    rate_steady: int = 8
    """Turns that count."""

    @property
    def loads(self) -> int:
        """Batches with the live keys."""
        return self.live_keys // self.rows

    @property
    def batches(self) -> int:
        """All batches of a contender."""
        return self.warm_up + self.steady

    @property
    def rate_turns(self) -> int:
        """All turns of a contender."""
        return self.rate_warm_up + self.rate_steady


QUICK = Sizes(
    rows=20_000,
    records=20_000,
    few_keys=200,
    some_keys=2_000,
    many_keys=20_000,
    live_keys=100_000,
    fewer_live_keys=10_000,
    join_rows=50_000,
    fewer_join_rows=5_000,
    sliding_keys=10,
    large_batches=5,
    touched=1_000,
    warm_up=1,
    long_warm_up=1,
    idles=3,
    steady=1,
    touches=2,
    rounds=1,
    jobs=20,
    partitions=20,
    rate_seconds=4,
    rate_margin=1,
    rate_warm_up=1,
    rate_steady=2,
)
