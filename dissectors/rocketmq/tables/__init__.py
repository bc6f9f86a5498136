"""RocketMQ's tables: request codes, header classes, names of numbers; JSON beside this file, a row for each entry."""

from __future__ import annotations

from dissectors.tables import find_tables

table = find_tables(__file__)
