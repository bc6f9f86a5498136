"""Exports chosen messages for other programs: as packets, as bytes, as the payloads that they carry.

Headless: a session and row numbers in, bytes into an output. Files come into being whole or not at all (output.py);
tables are written by analyzer.pipeline, lines of text by analyzer.render.
"""
