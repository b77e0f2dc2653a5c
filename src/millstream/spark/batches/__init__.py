"""What each batch of a streaming job needs around it, in the driver or next to Spark Connect."""
