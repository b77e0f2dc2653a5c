"""Runs groupings on Spark Structured Streaming."""
