"""Pulsar's frames with holes: which of them are alike.

Theory. Command, broker's metadata and metadata are Protocol Buffers behind sizes of their own; what is left of the
frame is the payload, as long as the frame's size less all of these says. A payload that has to be read, because it is
compressed or a batch, is a value of its own within the message, and each message's is read for itself. Markers, and
whatever there is a finding about, stand for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from dissectors.api import Body, Context
from dissectors.holes import UVARINT, Checksum, Extent, Integer, ReadMany, Shape, Shapeless, Stencil, Term, plain
from dissectors.pulsar.commands import MESSAGE, SEND, Command, commands, library, markers
from dissectors.pulsar.frame import CODECS, SIZES, batch, is_opaque, parts_at, wrapping
from dissectors.pulsar.header import COMMAND_AT
from dissectors.pulsar.labels import error_of
from dissectors.pulsar.notices import of_values
from dissectors.wire.budget import Budget
from dissectors.wire.checksum import crc32c
from dissectors.wire.codecs import decompress
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf import DEPTH
from dissectors.wire.protobuf_stencil import Stenciler
from dissectors.wire.varint import uvarint

LARGE = 4 << 20
"""Bytes that a payload may be decompressed to before its message is decoded for itself, with its own bound."""

_TYPE_AT = COMMAND_AT + 1
_WORD = 4


def stencil(message: bytes, context: Context, request: tuple[bytes, Context] | None) -> Stencil | None:
    """What decode() gives, with holes; None for a message that stands for itself."""
    shape = Shape(message if request is None else message + request[0])
    try:
        frame = _Frame(shape, 0, len(message), context)
        values = frame.values()
        asked = None if request is None else _Frame(shape, len(message), len(shape.data), request[1]).values()
        if of_values(frame.command, values, context, frame.size):
            return None
    except (Shapeless, *FAILURES):
        return None
    reported = None if frame.command.error is None else plain(values.get(frame.command.error))
    return Stencil(shape, Body(values, None if reported is None else error_of(reported), (), asked))


class _Frame:
    """Reads the frame between two places of a shape. Raises Shapeless or one of FAILURES."""

    def __init__(self, shape: Shape, begin: int, end: int, context: Context) -> None:
        command = None if context.code is None else commands().get(context.code)
        if command is None or not shape.data.startswith(command.begin, begin + COMMAND_AT):
            raise Shapeless
        self.command: Command = command
        self._shape, self._begin, self._end = shape, begin, end
        self._reader = Stenciler(shape)
        self._parts: list[Term] = []
        self.size = shape.encloses(Term(begin, _WORD, "I"), 0, begin + _WORD, end)
        """The number that the frame begins with."""

    def values(self) -> dict[str, Any]:
        """All of it."""
        shape, begin = self._shape, self._begin + COMMAND_AT
        total, size = SIZES.unpack_from(shape.data, self._begin)
        size_at = begin + len(self.command.begin)
        length, body = uvarint(shape.data, size_at)
        end = begin + size
        if self._begin + _WORD + total != self._end or body + length != end or end > self._end:
            raise Shapeless
        inner = Term(size_at, body - size_at, UVARINT)
        found = self._reader.part(inner, body, end, self.command.message, DEPTH - 1)
        self._parts.append(Term(self._begin + _WORD, _WORD, "I"))
        shape.encloses(self._parts[0], 0, begin, end)
        if end < self._end:
            if self.command.code not in (SEND, MESSAGE):
                raise Shapeless
            self._payload_part(end, found)
        return found

    def _payload_part(self, at: int, found: dict[str, Any]) -> None:
        """What stands behind the command."""
        data = self._shape.data
        broker, checksum, metadata = parts_at(data, at)
        if broker is not None:
            self._part(*broker, "broker_entry_metadata", "BrokerEntryMetadata", found)
        if checksum is not None:
            stored, behind = Term(checksum, _WORD, "I"), checksum + _WORD
            value = int.from_bytes(data[stored.at : behind])
            if crc32c(memoryview(data)[behind : self._end]) != value:
                raise Shapeless
            found["checksum"] = {"value": self._shape.integer(stored, value), "valid": True}
            self._shape.checksums.append(Checksum(stored.at, behind, self._end))
        self._part(*metadata, "metadata", "MessageMetadata", found)
        found.update(wrapping(found["metadata"]))
        found["payload"] = self._payload(self._rest(metadata[1]), found["metadata"])

    def _part(self, begin: int, end: int, name: str, message: str, found: dict[str, Any]) -> None:
        """A message behind its size of four bytes."""
        term = Term(begin - _WORD, _WORD, "I")
        if end > self._end:
            raise Shapeless
        found[name] = self._reader.part(term, begin, end, library().message(message))
        self._parts.append(term)

    def _rest(self, at: int) -> Extent:
        """What is left from a place on."""
        sizes = [int.from_bytes(self._shape.data[term.at : term.at + term.size]) for term in self._parts]
        total = self._end - self._begin - _WORD
        bias = total - sum(sizes) - (self._end - at)
        return Extent(Term(self._begin, _WORD, "I"), bias, at, self._end, tuple(self._parts))

    def _payload(self, extent: Extent, metadata: dict[str, Any]) -> Any:
        shape, codec = self._shape, metadata.get("compression", "NONE")
        if is_opaque(metadata):
            return shape.bytes(extent)
        count = metadata.get("num_messages_in_batch")
        if count is None and metadata.get("marker_type", 0) in markers():
            raise Shapeless
        if codec == "NONE" and count is None:
            return shape.bytes(extent)
        if (codec != "NONE" and codec not in CODECS) or extent.begin == extent.end:
            raise Shapeless
        wanted = ("uncompressed_size",) * (codec != "NONE") + ("num_messages_in_batch",) * (count is not None)
        asked = tuple(each for each in map(metadata.get, wanted) if type(each) is Integer)
        if len(asked) < len(wanted):
            raise Shapeless
        read = _reader(codec, count is not None)
        (value,) = read([shape.data[extent.begin : extent.end]], [tuple(each.value for each in asked)])
        if value is None:
            raise Shapeless
        payload = shape.nested(extent, read, value, asked)
        return payload if count is None else {"messages": payload}


@cache
def _reader(codec: str, batched: bool) -> ReadMany:
    """What reads payloads of one compression, which are batches or not."""

    def read_many(contents: Sequence[bytes], asked: Sequence[tuple[int, ...]]) -> list[Any]:
        shared = Budget()
        return [_opened(codec, batched, each, numbers, shared) for each, numbers in zip(contents, asked, strict=True)]

    return read_many


def _opened(codec: str, batched: bool, content: bytes, asked: tuple[int, ...], shared: Budget) -> Any:
    """A payload, decompressed, or the messages in it; None for a broken one, or where all take too much.

    asked: its size behind decompression, if it is compressed, and the number of messages, if it is a batch.
    """
    try:
        if codec != "NONE":
            content = decompress(CODECS[codec], content, Budget(min(LARGE, shared.left)), "payload", 0, asked[0])
            shared.left -= len(content)
        return batch(content, 0, len(content), asked[-1], shared) if batched else content
    except FAILURES:
        return None
