"""Captures as a data source of Spark: `spark.read.format("wireanalyze").option("table", "messages").load("captures/")`.

Theory. Spark asks for the schema, offers the filters of the query, asks for partitions, and has each read by a task. A
data source cannot shuffle, so a partition is a capture, or a share of the connections of a large one
(capture_rows.py). Filters on protocol, operation and time are applied before bodies are decoded, and Spark applies them
once more; columns that nobody named in schema() are not made. `readStream` is in data_stream.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from analyzer.pipeline.capture_rows import WHOLE_TABLES, Share, build_capture_rows
from analyzer.pipeline.data_stream import CaptureStreamReader
from analyzer.pipeline.source_options import ColumnMaker, SourceOptions
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.origins import RowFilter
from analyzer.tables.table_schemas import PORT, build_schema

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader, Filter
    from pyspark.sql.types import StructType

FORMAT = "wireanalyze"

SHARE_BYTES = 256 << 20
"""Bytes of a capture that one task makes rows of."""

TIME_OF = {"messages": "time", "exchanges": "request_time", "records": "time"}
"""The column with the time by which rows are filtered before they are made."""


class CaptureSource(DataSource):
    """The data source `wireanalyze` of Spark: a table of captures, with columns and filters pushed down."""

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format for spark.read.format()."""
        return FORMAT

    def schema(self) -> StructType:
        """Returns the columns of the table; Spark has no numbers without a sign."""
        query = SourceOptions.parse(self.options)
        columns = build_schema(query.table, fields=query.options.fields, bodies=query.options.bodies)
        signed = [field.with_type(pa.int32()) if field.type == PORT else field for field in columns]
        return from_arrow_schema(pa.schema(signed))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns the reader of a query."""
        return CaptureReader(SourceOptions.parse(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Returns the reader of a stream."""
        return CaptureStreamReader(SourceOptions.parse(self.options), schema)


class CapturePartition(InputPartition):
    """One task: the files of a capture, and which share of their connections."""

    def __init__(self, files: Sequence[CaptureFile], share: Share) -> None:
        super().__init__((files, share))


class CaptureReader(DataSourceReader):
    """Reads a table for one query."""

    def __init__(self, query: SourceOptions, schema: StructType) -> None:
        self._query, self._columns = query, ColumnMaker(query.table, schema)
        self._wanted = RowFilter()
        self._captures: frozenset[str] | None = None

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Takes note of the filters that it can apply before bodies are decoded; Spark applies all of them again."""
        for each in filters:
            self._note(each)
        return filters

    def _note(self, found: Filter) -> None:
        kind, column, value = type(found).__name__, getattr(found, "attribute", ())[:1], getattr(found, "value", None)
        if not column or kind not in ("EqualTo", "EqualNullSafe", "In", *_FROM, *_TO):
            return
        name, wanted, is_name = column[0], self._wanted, kind not in (*_FROM, *_TO)
        if name == "capture" and is_name:
            values = _make_set(value)
            self._captures = values if self._captures is None else self._captures & values
        if self._query.table not in TIME_OF:
            return
        if name in ("protocol", "operation") and is_name:
            self._wanted = wanted.require_name(name, _make_set(value))
        elif kind != "In" and (span := self._find_span(name, value)) is not None:
            first, last = span
            if kind not in _TO:
                wanted = replace(wanted, begin=max(first, wanted.begin or first))
            if kind not in _FROM:
                wanted = replace(wanted, end=min(last, last if wanted.end is None else wanted.end))
            self._wanted = wanted

    def _find_span(self, name: str, value: Any) -> tuple[int, int] | None:
        """The first and the last ns of a value of a column with the time of rows; None for another column."""
        time = TIME_OF[self._query.table]
        if name == f"{time}_ns" and isinstance(value, int):
            return value, value
        if name == time and isinstance(value, datetime):
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            begin = round((moment - _EPOCH).total_seconds() * 10**6) * 1000
            return begin, begin + 999
        if name == "date" and isinstance(value, date):
            day = (value - _EPOCH.date()).days * _DAY
            return day, day + _DAY - 1
        return None

    def partitions(self) -> Sequence[InputPartition]:
        """Returns a partition for each capture, and several for a large one."""
        found: list[InputPartition] = []
        for capture, group in groupby(self._query.find_files(), key=lambda file: file.capture_name):
            files = list(group)
            if self._captures is None or capture in self._captures:
                shares = self._count_shares(files)
                found += [CapturePartition(files, Share(number, shares)) for number in range(shares)]
        return found

    def _count_shares(self, files: Sequence[CaptureFile]) -> int:
        if self._query.table in WHOLE_TABLES:
            return 1
        return self._query.options.partitions or -(-sum(file.size for file in files) // SHARE_BYTES) or 1

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a partition. Spark makes one without a value where there is none."""
        if partition.value is None:
            return iter(())
        files, share = partition.value
        options = replace(self._query.options, fields=self._columns.has("fields"))
        rows = build_capture_rows(files, options, self._query.table, share, self._wanted)
        return map(self._columns.convert, rows)


def _make_set(value: Any) -> frozenset[Any]:
    """The values of a filter on a column of texts."""
    return frozenset(value if isinstance(value, list | tuple) else [value])


_FROM, _TO = ("GreaterThan", "GreaterThanOrEqual"), ("LessThan", "LessThanOrEqual")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400 * 10**9
