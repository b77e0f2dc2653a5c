"""Reads sources: each kind as the DataFrame that Spark has for it, or in Python."""
