"""The registry of jobs: who runs what, since when, how it goes, and how it ended."""
