"""Record data: layout.py describes it; values.py, fields.py, template.py, headers.py and fast_path.py read it."""
