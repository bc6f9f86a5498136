"""TLS 1.2 and 1.3 without I/O: records, handshakes, keys, and the plaintext of a connection whose keys are known."""
