"""Processes: what they ask of the system, and how several share work on what has been read."""
