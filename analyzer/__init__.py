"""Captures to streams, messages, exchanges and answers."""
