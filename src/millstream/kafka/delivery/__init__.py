"""Delivery of a sink's records to topics: exactly once by transactions, or at least once."""
