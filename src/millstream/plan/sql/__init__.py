"""Spark SQL in a plan: reads, checks and types expressions without a JVM."""
