"""A program that runs: how it is started, shown to people, and ended."""
