"""Examples on disk: the canonical format, where it is kept, and where it comes from."""
