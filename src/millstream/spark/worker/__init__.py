"""What runs in Spark's Python workers, from the rows of a batch to the rows of its shards."""
