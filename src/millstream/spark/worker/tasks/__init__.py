"""What a Python stage does with the rows of a step: one kind of task a file."""
