"""Nexmark: the stream of an auction site, and the queries q0 to q22 over it."""
