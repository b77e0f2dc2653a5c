"""This machine and this process: Java, other processes, locks, folders, Ctrl-C."""
