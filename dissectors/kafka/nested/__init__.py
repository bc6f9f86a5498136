"""What is in bytes fields: rules.py says where, values.py and fields.py decode it, the others know layouts."""
