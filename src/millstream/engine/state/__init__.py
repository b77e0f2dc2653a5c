"""After a shuffle: the state of a shard, in buckets of Arrow tables."""
