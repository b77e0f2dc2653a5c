"""The live demo: team scores through Kafka and Spark, in a terminal, for a minute."""
