"""Bytes to messages, values and fields: pure code without I/O, clock, terminal or capture library."""
