"""Administration of a Kafka cluster: its topics, its groups, and how much space they take."""
