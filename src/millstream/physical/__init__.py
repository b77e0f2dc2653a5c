"""Which step of a program runs where and in what order; no Spark is needed to know."""
