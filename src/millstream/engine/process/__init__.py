"""A user's processor over tables: which keys have a turn in a step, and their state in columns."""
