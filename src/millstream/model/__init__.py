"""The values that describe a computation: what, where, when and how. They know nothing else."""
