"""Joins in columns: one file for each kind, and what they have in common."""
