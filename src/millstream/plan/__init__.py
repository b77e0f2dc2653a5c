"""What a user's program becomes: an immutable graph of steps, checked while it is built."""
