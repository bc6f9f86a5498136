"""Field paths: what can be asked of a row by name, checked once and read for many rows at a time."""

from analyzer.query.fields.catalog import UnknownField, every, find, resolve
from analyzer.query.fields.path import FieldPath, Kind
from analyzer.query.fields.reading import Occurrences, Reading

__all__ = ["FieldPath", "Kind", "Occurrences", "Reading", "UnknownField", "every", "find", "resolve"]
