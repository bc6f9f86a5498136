"""Record data: values.py and fields.py read the same bytes, stencil.py those of alike messages, batches/ records."""
