"""Every reach behind PySpark's public API, each checked when a session starts."""
