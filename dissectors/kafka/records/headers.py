"""The headers of batches alone, for readers that need none of their records.

Theory. A header tells the producer of a batch, the number of its records, and their times. Reading only headers saves
the checksum and the decompression, which cost many times as much. The fields are those of records/values.py, which is
the reference implementation and reads everything but whole batches (older formats, a cut one, a negative count).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dissectors.kafka.records.layout import BATCH, BATCH_AT, BATCH_BITS, BATCH_SIZE, Head, iterate_entries
from dissectors.wire.budget import Budget
from dissectors.wire.emit import Decode, projection
from dissectors.wire.varint import Unfit

CONTENT = "(content)"
"""The name under which the bytes of a batch's records, as they are on the wire, stand beside its header's fields.

No field is called so: a name in brackets is what only a projection makes.
"""

HEADER_FIELDS = frozenset({*BATCH_AT, *BATCH_BITS, CONTENT}) - {"magic", "crc"}
"""What can be read without a batch's records."""

MOST_RECORDS = 50_000
"""Records of a message up to which a tree shows all of its batches."""


def read_batch_headers(data: bytes, budget: Budget) -> list[dict[str, Any]]:
    """Returns the headers of the batches of a records field. Raises Unfit for what is not a run of whole batches."""
    found, records = [], 0
    for at, stop, magic in iterate_entries(data, 0, len(data)):
        if magic != 2 or stop - at < BATCH_SIZE:
            raise Unfit
        header, begin = _decoder()(data, at, budget)
        records += Head.from_values(header).total
        if records > MOST_RECORDS:
            raise Unfit
        found.append(header | {CONTENT: data[begin:stop]})
    return found


@cache
def _decoder() -> Decode:
    return projection(BATCH, frozenset((name,) for name in HEADER_FIELDS))
