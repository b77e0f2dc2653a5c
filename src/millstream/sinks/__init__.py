"""Where results go: a protocol, and one place for each kind of sink."""
