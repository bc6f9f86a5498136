"""Structures in bytes fields: rules.py says where, values.py and fields.py decode them, the others hold layouts."""
