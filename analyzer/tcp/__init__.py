"""Assigns packets to TCP connections, and puts the bytes of each direction in order."""
