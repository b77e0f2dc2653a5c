"""The sink that prints batches to standard output."""
