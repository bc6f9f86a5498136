"""Processes: their use of the system, and the division of work between several of them."""
