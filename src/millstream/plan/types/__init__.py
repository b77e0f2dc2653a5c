"""Schemas, Spark's types, and the Python values that they hold."""
