"""One Pulsar frame to nodes: the twin of frame.py that keeps where every value lies, and says what is broken.

Theory. Each part of a frame has a size of its own, so what breaks inside of one is contained in it. The payload is the
one part that may hide a source of its own, below the leaf of the compressed bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dissectors.errors import DecodeError, Malformed, Truncated
from dissectors.field import Field, FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.pulsar.commands import MESSAGE, SEND, Command, frame_of, library, markers
from dissectors.pulsar.frame import BROKER_METADATA, CHECKSUM, CODECS, is_opaque, wrapping
from dissectors.pulsar.header import command_of
from dissectors.wire.codecs import decompress
from dissectors.wire.embedded import Holder
from dissectors.wire.message import framed
from dissectors.wire.primitive import UINT16, UINT32
from dissectors.wire.protobuf import MessageType
from dissectors.wire.protobuf_fields import read_fields, read_within
from dissectors.wire.reader import Read, Reader
from dissectors.wire.specs import UNDECODED, Layout, Many, Wrapping, element, members

_COMMAND_SIZE = Wrapping("commandSize", "uint32")
_COMMAND = Layout("command", "struct")
_MAGIC = Layout("magic", "uint16")
_BROKER_METADATA = FieldSpec("broker_entry_metadata", "struct")
_CHECKSUM = FieldSpec("checksum", "struct")
_STORED = FieldSpec("value", "uint32", lambda value: f"{value:#010x}")
_VALID = FieldSpec("valid", "bool")
_METADATA = FieldSpec("metadata", "struct")
_SIZE = Layout("size", "uint32")
_PAYLOAD = FieldSpec("payload", "bytes")
_STRUCTURE = FieldSpec("payload", "struct")
_CONTENT = Wrapping("content", "bytes")
_ENCRYPTED = FieldSpec("encrypted", "bool")
_CHUNK = FieldSpec("chunk", "struct")
_MESSAGES = Many("messages", "array")
_REST = FieldSpec("_rest", "bytes")
_HIDDEN = Layout("undecoded", "undecoded", secret=True)

ALL_BITS = 0xFFFF_FFFF
NO_BITS = 0
"""The mask of what is said of a value as a whole, by something else."""


def read(message: bytes) -> Tree:
    """The annotated tree of a frame."""
    command, code, _ = command_of(message)
    doubts = []
    if command is None and code >= 0:
        doubts.append(Finding(Severity.NOTE, "unknown-operation", f"command type {code} is not in the tables"))
    return framed(message, UINT32, partial(_content, command=command), doubts)


def _content(reader: Reader, command: Command | None) -> None:
    """All behind the first size."""
    size = reader.take(_COMMAND_SIZE, UINT32)
    sound = _part(reader, _COMMAND, frame_of(None if command is None else command.code), (), size)
    if not sound and (command is None or command.secret):
        _hide(reader.into[-1])
    if reader.at < reader.end and command is not None and command.code in (SEND, MESSAGE):
        _payload_part(reader)


def _hide(part: Field) -> None:
    """What could not be read of a part may be a secret."""
    if part.children and part.children[-1].spec is UNDECODED:
        part.children[-1].spec = _HIDDEN


def _part(reader: Reader, spec: FieldSpec, message: MessageType, head: tuple[FieldSpec, ...], size: int = -1) -> bool:
    """A part of the frame that holds a message, behind magic and size if these are its `head`; True if it is sound."""
    reader.enter(spec)
    for each in head:
        size = reader.take(each, UINT16 if each is _MAGIC else UINT32)
    at, available = reader.at, reader.end - reader.at
    sound = reader.guard(partial(read_fields, message=message, whole=size <= available), at + min(size, available))
    if sound and size > available:
        raise Truncated(reader.path() or message.name, at, size, available)
    reader.leave()
    return sound


def _payload_part(reader: Reader) -> None:
    """What stands behind the command of a SEND or MESSAGE."""
    whole = reader.tree.fields[0].value <= len(reader.data) - UINT32.size
    if _magic(reader) == BROKER_METADATA:
        sound = _part(reader, _BROKER_METADATA, library().message("BrokerEntryMetadata"), (_MAGIC, _SIZE))
        if not sound and reader.at == reader.end:
            return
    if _magic(reader) == CHECKSUM:
        _checksum(reader, whole)
    sound = _part(reader, _METADATA, library().message("MessageMetadata"), (_SIZE,))
    if not whole and reader.at == reader.end:
        return
    metadata = members(reader.into[-1].children) if sound else {}
    if not sound or is_opaque(metadata) or (not whole and metadata.get("compression", "NONE") != "NONE"):
        reader.leaf(_PAYLOAD, reader.data[reader.at : reader.end], reader.end)
        for name, value in wrapping(metadata).items():
            reader.bits(_ENCRYPTED if name == "encrypted" else _CHUNK, value, NO_BITS)
    else:
        _payload(reader, metadata)


def _magic(reader: Reader) -> int:
    return int.from_bytes(reader.data[reader.at : min(reader.at + 2, reader.end)])


def _checksum(reader: Reader, whole: bool) -> None:
    """The checksum, held against all bytes behind it if they are there."""
    reader.enter(_CHECKSUM)
    reader.take(_MAGIC, UINT16)
    stored = reader.take(_STORED, UINT32)
    if whole:
        from dissectors.wire.checksum import crc32c  # few frames have one

        computed = crc32c(reader.data[reader.at : reader.end])
        reader.bits(_VALID, stored == computed, ALL_BITS)
        if stored != computed:
            text = f"the checksum is {stored:#010x}, the bytes have {computed:#010x}"
            place = reader.source, reader.at - UINT32.size, UINT32.size
            reader.tree.findings.append(Finding(Severity.WARNING, "crc-mismatch", text, *place))
    reader.leave()


def _payload(reader: Reader, metadata: dict[str, Any]) -> None:
    """A payload that is neither encrypted nor a chunk, up to the end."""
    spec, inside = _kind(metadata)
    compression = metadata.get("compression", "NONE")
    data = reader.data[reader.at : reader.end]
    if compression == "NONE":
        if inside is None:
            reader.leaf(spec, data, reader.end)
            return
        reader.enter(spec)
        node = reader.open[-1]
        reader.guard(inside, reader.end)
        reader.leave()
    else:
        try:
            data = _decompressed(reader, compression, data, metadata.get("uncompressed_size", 0))
        except DecodeError as error:
            reader.find(error)
            reader.leaf(_PAYLOAD, data, reader.end)
            return
        node = reader.leaf(spec, None, reader.end)
        inner = reader.below(node, f"payload, {compression}", data)
        inner.guard(inside or _plain, len(data))
    if spec is not _STRUCTURE:
        node.value = data


def _decompressed(reader: Reader, compression: str | int, data: bytes, size: int) -> bytes:
    if not isinstance(compression, str):
        raise Malformed(reader.path("payload"), reader.at, f"has compression {compression}, which is none")
    return decompress(CODECS[compression], data, reader.budget, reader.path("payload"), reader.at, size)


def _kind(metadata: dict[str, Any]) -> tuple[FieldSpec, Read | None]:
    """What a payload is, and what reads it; None where it is nothing but bytes."""
    if "num_messages_in_batch" in metadata:
        return _STRUCTURE, partial(_batch, count=metadata["num_messages_in_batch"])
    marker = markers().get(metadata.get("marker_type", 0))
    if marker is None:
        return _PAYLOAD, None
    return Holder("payload", "bytes", holds=marker.name), partial(read_fields, message=marker, whole=True)


def _plain(reader: Reader) -> None:
    reader.leaf(_CONTENT, reader.data, reader.end)


def _batch(reader: Reader, count: int) -> None:
    """Messages, each behind its metadata, whose size stands in front."""
    if count < 0:
        raise Malformed(reader.path("messages"), reader.at, f"are {count}")
    reader.enter(_MESSAGES)
    single = library().message("SingleMessageMetadata")
    for index in range(count):
        reader.enter(element(index, "struct"))
        reader.enter(_METADATA)
        read_within(reader, single, reader.take(_SIZE, UINT32))
        reader.leave()
        size = members(reader.into[-1].children).get("payload_size")
        if not isinstance(size, int) or size < 0:
            raise Malformed(reader.path("payload"), reader.at, f"has size {size}")
        reader.need(size, reader.at, "payload")
        stop = reader.at + size
        reader.leaf(_PAYLOAD, reader.data[reader.at : stop], stop)
        reader.leave()
    reader.leave()
    if reader.at < reader.end:
        text = f"{reader.end - reader.at} bytes behind the {count} messages of the batch"
        reader.tree.findings.append(
            Finding(Severity.NOTE, "trailing-bytes", text, reader.source, reader.at, reader.end - reader.at)
        )
        reader.leaf(_REST, reader.data[reader.at : reader.end], reader.end)
