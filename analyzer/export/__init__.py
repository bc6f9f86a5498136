"""Exports chosen messages for other programs: as packets, as bytes, as their payloads.

Input is a session and row numbers, output is bytes. Files are written completely or not at all (output.py).
analyzer.pipeline writes tables, analyzer.render writes lines of text.
"""
