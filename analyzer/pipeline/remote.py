"""Captures that only Spark can read: hdfs://, s3a:// and whatever else its file systems know.

Theory. Spark's reader of binary files lists them without a look into them, and gives their content where a task asks
for it. There it is spooled and scanned like any other file; nobody else can open it, so payload travels with the
pointers. What such a file is comes out in its scan, and it is one split. Pieces of datagrams are not looked for in the
file before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from analyzer.pipeline.sources import CaptureFile, Named, Sources

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "binaryFile"


def listed(spark: SparkSession, sources: Sources) -> Sources:
    """Sources with the files of their URIs, each known by its URI. Raises UserError where there is none."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import unix_micros

    if not sources.remote:
        return sources
    named = Named(sources.pattern)
    passed_over = list(sources.passed_over)
    for file in sources.files:
        named.add(file)
    for uri in sources.remote:
        try:
            reader = spark.read.format(FORMAT).option("recursiveFileLookup", "true")
            rows = reader.load(uri).select("path", "length", unix_micros("modificationTime").alias("changed")).collect()
        except (PySparkException, Py4JError) as error:
            reason = str(getattr(error, "java_exception", error)).strip().splitlines()[0][:300]
            raise UserError(f"cannot read {uri}: {reason}; check the name and Spark's access to it") from error
        for row in rows:
            found = row.path.rstrip("/") != uri.rstrip("/")
            file = CaptureFile(row.path, -1, "", "", row.length, row.changed * 1000, False, True, found)
            problem = named.add(file)
            if problem is not None:
                passed_over.append(f"{problem}; it was passed over")
    files = named.numbered()
    if not files:
        raise UserError("no capture was found: name pcap or pcapng files, or folders with them")
    return replace(sources, files=files, passed_over=tuple(passed_over), remote=())


def contents(spark: SparkSession, files: Sequence[CaptureFile]) -> DataFrame | None:
    """The pointers of the remote ones among files, and a note about each; None if there is none."""
    from analyzer.pipeline.pointers import COLUMNS

    numbers = {file.path: number for number, file in enumerate(files) if file.remote and not file.too_large}
    if not numbers:
        return None

    def scan_them(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.scan import scan_contents

        return scan_contents(batches, numbers, files)

    reader = spark.read.format(FORMAT).option("recursiveFileLookup", "true")
    return reader.load(list(numbers)).select("path", "content").mapInArrow(scan_them, COLUMNS)
