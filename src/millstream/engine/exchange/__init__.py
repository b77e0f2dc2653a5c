"""Before a shuffle: which shard gets which rows, and in what form."""
