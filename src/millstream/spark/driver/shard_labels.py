"""The names of shards: numbers that Spark spreads evenly over the partitions of a shuffle."""

from __future__ import annotations

from itertools import count


def labels_of(shards: int, partitions: int) -> list[int]:
    """A number for each shard, chosen so that Spark spreads the shards evenly over partitions.

    Spark places a group by the hash of its key; of 0, 1, 2 … it could place most in one partition.
    """
    placed: list[list[int]] = [[] for _ in range(partitions)]
    needed = [len(range(partition, shards, partitions)) for partition in range(partitions)]
    left = shards
    for number in count():
        if not left:
            break
        place = _murmur3(number) % partitions
        if len(placed[place]) < needed[place]:
            placed[place].append(number)
            left -= 1
    return [placed[shard % partitions][shard // partitions] for shard in range(shards)]


def _murmur3(number: int) -> int:
    """Spark's hash of an int: MurmurHash3 with seed 42.

    >>> _murmur3(0), _murmur3(1)
    (933211791, -559580957)
    """
    mask = 0xFFFFFFFF
    k = (number & mask) * 0xCC9E2D51 & mask
    k = ((k << 15) | (k >> 17)) & mask
    k = k * 0x1B873593 & mask
    h = 42 ^ k
    h = ((h << 13) | (h >> 19)) & mask
    h = (h * 5 + 0xE6546B64) & mask
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & mask
    h ^= h >> 13
    h = h * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h if h < 2**31 else h - 2**32
