"""What is in bytes fields: rules.py says where, values.py and fields.py put it there, the others know layouts."""
