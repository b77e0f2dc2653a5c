"""What runs on the driver: the session, the query, its checkpoint and its commits."""
