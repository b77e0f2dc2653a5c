"""The picture of event time and processing time, for anyone's panes."""
