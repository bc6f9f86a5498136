"""Record data: values.py and fields.py read the same bytes, template.py those of alike messages, batches/ records."""
