"""Pulsar's tables: commands, messages and enums as data, and the way to read them.

Theory. All tables are JSON beside this file, one field a line, so a new field is a new row. A file is read at its first
use.
"""

from __future__ import annotations

from dissectors.tables import find_tables

table = find_tables(__file__)
