"""The picture of event time and processing time, for any panes."""
