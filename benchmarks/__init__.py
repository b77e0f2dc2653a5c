"""The benchmark: Millstream and Spark's own aggregation side by side. Run it with `make bench`."""
