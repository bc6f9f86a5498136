"""The records of batches: plain.py reads them one by one, bulk.py many at once.

Theory. NumPy has its price for each call, and a far higher one for being loaded. So few records are read plainly, and
all of them where NumPy is not there already: a command that decodes one message does not wait for it. What is read is
the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from dissectors.kafka.records.batches.plain import Head, read_rows
from dissectors.wire.flat import FlatRows, Table
from dissectors.wire.varint import Unfit

_WORTH_A_ROUND = 80
"""Records that NumPy takes as long for, reading and writing, as for one by one."""


class Batch(NamedTuple):
    """A batch whose records are in `data` from `at` to `end`, decompressed."""

    data: bytes
    at: int
    end: int
    head: Head


def read_batches(batches: Sequence[Batch]) -> Sequence[FlatRows | Table]:
    """The records of each batch of a message. Raises one of emit.FAILURES where any are broken."""
    if sum(batch.head.total for batch in batches) >= _WORTH_A_ROUND and "numpy" in sys.modules:
        from dissectors.kafka.records.batches.fast_path import read_tables

        try:
            return read_tables(
                [memoryview(data)[at:end] for data, at, end, _ in batches], [batch.head for batch in batches]
            )
        except (Unfit, IndexError, UnicodeDecodeError):
            pass  # broken, or odd: one by one it shows
    return [read_rows(*batch) for batch in batches]
