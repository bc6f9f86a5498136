"""Columns: arrays that replace objects, and their cells as values and as text."""
