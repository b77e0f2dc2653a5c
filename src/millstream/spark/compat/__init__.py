"""Every reach behind PySpark's public API: one module for each, checked when a session starts.

A module has a function that reaches, and a ``check`` that raises MS222 with what is not there.
"""
