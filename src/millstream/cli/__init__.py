"""The command line ``millstream``."""
