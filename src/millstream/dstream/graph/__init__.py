"""The DStreams of a program as nodes of a graph, without their public methods."""
