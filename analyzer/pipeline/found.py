"""What the makers of tables give: columns, and batches of a table's schema made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.pipeline.options import Options
from analyzer.pipeline.tables import schema

NOTES = "notes"
"""The table of what is said about files (`note`: JSON); it is not written."""

DAY = 86_400 * 10**9
MOST = 1 << 14
"""Rows in one batch of a table of which not every row is a message."""

Columns = dict[str, Any]
"""By name: a NumPy or Arrow array, or a list; a text or a null that stands for as many of it as there are rows."""


class Found(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


def batch_of(table: str, columns: Mapping[str, Any], options: Options) -> pa.RecordBatch:
    """Columns in their order and types. `date` has a value for each row."""
    wanted = schema(table, fields=options.fields)
    count = len(columns["date"])
    return pa.record_batch([_array(columns[each.name], each.type, count) for each in wanted], schema=wanted)


def _array(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    if values is None or isinstance(values, str):
        return pa.repeat(pa.scalar(unicode(values), kind), count)
    return array_of(values, kind)


def array_of(values: Any, kind: pa.DataType) -> pa.Array:
    """An Arrow array of a sequence, whatever its texts hold."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(unicode(values), kind)


def unicode(value: Any) -> Any:
    """Text that is no Unicode (lone surrogates, file names in another encoding) as escapes, as JSON has it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: unicode(item) for key, item in value.items()}
    return [unicode(item) for item in value] if isinstance(value, list) else value


def days(time: Ints) -> Ints:
    """Days since 1970."""
    return (time // DAY).astype(np.int32)
