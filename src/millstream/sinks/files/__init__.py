"""The sink of files: its names and formats, what writes the files, and what commits them."""
