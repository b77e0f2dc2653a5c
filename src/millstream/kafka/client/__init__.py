"""Clients of a Kafka cluster: how it is reached, and how records are read and written."""
