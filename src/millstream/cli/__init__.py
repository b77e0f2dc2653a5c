"""The command line: what people type, over the rooms that do it."""
