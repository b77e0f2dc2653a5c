"""Makes one DataFrame of a physical plan."""
