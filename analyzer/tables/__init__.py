"""The tables of captures as Arrow columns, in one process: what `export --as parquet`, Spark and Python programs share.

Theory. The rows of a table are made of the columns of the index, many at a time (message_tables.py, stream_tables.py),
and of decoded bodies, which templates make as columns, too (bodies.py, records.py, topic_columns.py). table_builder.py
makes all of them in one pass over the messages; table_schemas.py has their columns and types. What only all messages
together tell, names of ids and sums, is collected on the way (topic_names.py, summaries.py).
"""
