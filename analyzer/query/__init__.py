"""Queries over rows: fields by name, filters, sorting, searches."""
