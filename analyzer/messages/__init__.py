"""Makes messages of TCP connections: recognition, framing, pairing, and the message index."""
