"""Queries over rows: fields by name, filters, orders, searches."""
