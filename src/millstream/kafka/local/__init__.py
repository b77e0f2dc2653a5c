"""Local brokers: real Kafka on this machine, for development and tests."""

from millstream.kafka.local.data_directory import existing, known, running
from millstream.kafka.local.lifecycle import down, start_broker, stop_broker, up

__all__ = ["down", "existing", "known", "running", "start_broker", "stop_broker", "up"]
