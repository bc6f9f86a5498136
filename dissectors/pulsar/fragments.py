"""Whether a frame carries a chunk of a larger message, and which: told by its beginning, for who looks at many frames.

Theory. A chunk's payload may have megabytes, and what says that it is one stands before it. A metadata that has none of
the bytes with which the field of a chunk's number begins is not read at all.
"""

from __future__ import annotations

from dissectors.fragment import Fragment
from dissectors.pulsar.commands import MESSAGE, SEND, library
from dissectors.pulsar.frame import find_metadata
from dissectors.pulsar.header import find_command
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf_values import decode

FRAGMENTED = frozenset((SEND, MESSAGE))

_CHUNK_ID = (b"\xe8\x01", b"\xe8\x81")
"""What the field begins with that only chunks have; the second is a longer way to write the same."""

_COUNTED = {SEND: "producer_id", MESSAGE: "consumer_id"}


def is_cut(prefix: bytes) -> bool:
    """Whether the metadata, which would say that a frame carries a chunk, goes on behind the prefix."""
    try:
        return find_metadata(prefix)[1] > len(prefix)
    except FAILURES:
        return True


def find_fragment(prefix: bytes) -> Fragment | None:
    """See Fragments.portion; nothing of metadata that goes on behind the prefix."""
    try:
        at, stop = find_metadata(prefix)
        if not any(prefix.find(mark, at, stop) >= 0 for mark in _CHUNK_ID):
            return None
        metadata = decode(prefix, at, stop, library().message("MessageMetadata"))
        command, begin, end = find_command(prefix)
        if stop > len(prefix) or command is None:
            return None
        number = decode(prefix, begin, end, command.message)[_COUNTED[command.code]]
    except (*FAILURES, KeyError):
        return None
    place, uuid = metadata.get("chunk_id", -1), metadata.get("uuid")
    if uuid is None or place < 0:
        return None
    return Fragment((number, uuid), place, metadata.get("num_chunks_from_msg", 0))
