"""What can be asked of rows: fields by their names, filters, orders, searches."""
