"""Turns TCP connections into messages: recognition, framing, pairing, and the message index."""
