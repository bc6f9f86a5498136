"""Reads bytes that users paste as text: hex dumps, hex words, C arrays, base64."""
