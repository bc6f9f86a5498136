"""Bytes that people paste as text: hex dumps, hex words, C arrays, base64."""
