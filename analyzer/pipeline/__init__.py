"""Many captures to tables, on Spark. pyspark is imported here alone, and not before something runs.

Theory. Spark never sees payload. Each file is hopped over once and gives pointers, some fifty bytes a packet
(pointers.py, scan.py); the pointers of one connection are brought together, from whatever files, and sorted by time;
the engine of every other front end reads them there, its store mapping the files that they point into (partition.py).
A connection is whole in one partition, so rows depend neither on how many partitions there are nor on how the capture
was cut into files. What the rows become is one function for Spark and for a single process (analyzer.tables);
tests/analyzer/pipeline holds the two equal. What only all processes together know, names of ids and sums, is added at
the end (finish.py).

Four front ends use it: the command `pipeline` (job.py, ring_capture.py), the command `export` (analyzer.export.tables),
and Spark's data source for queries and streams (data_source.py, data_stream.py).
"""
