"""The fast interpreter: the reference's meaning, a micro-batch at a time, in columns."""
