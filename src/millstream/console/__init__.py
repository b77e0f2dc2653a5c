"""The console: jobs, their pictures and the topics of Kafka, in a browser."""
