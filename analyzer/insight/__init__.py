"""Facts about a whole capture that no single message tells."""
