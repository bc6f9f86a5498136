"""Field paths: fields of a row by name, checked once and read for many rows at a time."""

from analyzer.query.fields.catalog import UnknownField, find_field, list_fields, list_short_fields, resolve_fields
from analyzer.query.fields.path import FieldKind, FieldPath
from analyzer.query.fields.reading import FieldOccurrences, FieldReader

__all__ = [
    "FieldKind",
    "FieldOccurrences",
    "FieldPath",
    "FieldReader",
    "UnknownField",
    "find_field",
    "list_fields",
    "list_short_fields",
    "resolve_fields",
]
