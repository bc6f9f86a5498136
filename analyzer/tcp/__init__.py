"""Packets to TCP connections, and each of their directions to bytes in order."""
