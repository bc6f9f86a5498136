"""Columns: what the analyzer keeps instead of objects, their cells as values and as text."""
