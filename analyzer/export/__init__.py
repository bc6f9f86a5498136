"""Exports chosen messages for other programs: as packets, as bytes, as their payloads, as tables.

Input is a session and row numbers, output is bytes. Files are written completely or not at all (output.py).
analyzer.tables makes the rows of tables, analyzer.render writes lines of text.
"""
