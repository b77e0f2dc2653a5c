"""Where DStreams get their data from, one file for each kind."""
