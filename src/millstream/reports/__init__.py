"""What a job reports: its progress, what ended it, and which lines of an error users see."""
