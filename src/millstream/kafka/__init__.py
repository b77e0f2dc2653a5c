"""Kafka: local brokers for development, topics, groups and messages, without Spark."""
