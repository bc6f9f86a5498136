"""Decodes the body of a row: values, tree, names, fragments of other messages, summary line."""
