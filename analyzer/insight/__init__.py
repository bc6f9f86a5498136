"""Facts about a whole capture, from many messages."""
