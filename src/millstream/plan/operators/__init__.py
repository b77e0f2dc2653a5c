"""Operators of a plan: one file for each kind of step that keeps state by key."""
