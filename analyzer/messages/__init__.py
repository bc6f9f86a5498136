"""Bytes in order to messages, exchanges and the index of rows: the slow path, and the fast path beside it."""
