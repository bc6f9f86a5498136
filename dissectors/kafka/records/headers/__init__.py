"""The headers of batches alone, for readers that need none of their records.

Theory. A header tells the producer of a batch, the number of its records, and their times. Reading only headers saves
the checksum and the decompression, which cost many times as much. The fields are those of records/values.py, which is
the reference implementation and reads everything but whole batches (older formats, a cut one, a negative count).
"""

from __future__ import annotations

from typing import Any

from dissectors.kafka.records.batches import FAR
from dissectors.kafka.records.values import BATCH, ENTRY, MAGIC_AT, describe_batch
from dissectors.wire.budget import Budget
from dissectors.wire.varint import Unfit

CONTENT = "(content)"
"""The name under which the bytes of a batch's records, as they are on the wire, stand beside its header's fields.

No field is called so: a name in brackets is what only a projection makes.
"""

HEADER_FIELDS = frozenset({
    "baseOffset", "length", "partitionLeaderEpoch", "attributes", "compression", "timestampType", "transactional",
    "control", "deleteHorizon", "lastOffsetDelta", "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch",
    "baseSequence", "count", CONTENT,
})  # fmt: skip
"""What can be read without a batch's records."""

MOST_RECORDS = 50_000
"""Records of a message up to which a tree shows all of its batches."""


def read_batch_headers(data: bytes, budget: Budget) -> list[dict[str, Any]]:
    """Returns the headers of the batches of a records field. Raises Unfit for what is not a run of whole batches."""
    found, at, end, records = [], 0, len(data), 0
    while at < end:
        if end - at < BATCH.size or data[at + MAGIC_AT] != 2:
            raise Unfit
        (
            base,
            length,
            epoch,
            _,
            _,
            attributes,
            last,
            first_time,
            last_time,
            producer,
            producer_epoch,
            sequence,
            count,
        ) = BATCH.unpack_from(data, at)
        stop = at + ENTRY.size + length
        records += count
        if count < 0 or records > MOST_RECORDS or not at + BATCH.size <= stop <= end:
            raise Unfit
        if not (-FAR < base < FAR > first_time > -FAR):
            raise Unfit
        found.append(
            {
                "baseOffset": base,
                "length": length,
                "partitionLeaderEpoch": epoch,
                **describe_batch(attributes, last, first_time, last_time, producer, producer_epoch, sequence, count),
                CONTENT: data[at + BATCH.size : stop],
            }
        )
        at = stop
    return found
