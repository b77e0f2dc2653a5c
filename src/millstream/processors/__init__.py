"""The small forms of ``process``: processors that streams have methods for."""
