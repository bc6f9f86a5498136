"""Decodes a Pulsar frame to a tree, with places and errors; frame.py makes values alone.

Theory. frame.py describes the order of the sections and the form of a payload. Each part of a frame has a size of its
own, so damage in one is contained in it. Only the payload may hide a source of its own, below the leaf of the
compressed bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dissectors.errors import DecodeError, MalformedField, TruncatedField
from dissectors.field import Field, FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.pulsar.commands import MESSAGE, SEND, Command, commands, library, make_base_command
from dissectors.pulsar.frame import (
    CODECS,
    PayloadForm,
    classify_payload,
    describe_wrapping,
    is_opaque,
    payload_sections,
)
from dissectors.pulsar.header import SIZES, find_command
from dissectors.wire.codecs import decompress
from dissectors.wire.embedded import Holder
from dissectors.wire.hiding import hide_rest, hide_unread
from dissectors.wire.message import read_framed
from dissectors.wire.primitive import UINT16, UINT32
from dissectors.wire.protobuf import MessageType
from dissectors.wire.protobuf_fields import read_fields, read_within
from dissectors.wire.reader import Read, Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, Many, Wrapping, element, members

_COMMAND_SIZE = Wrapping("commandSize", "uint32")
_COMMAND = LayoutSpec("command", "struct")
_MAGIC = LayoutSpec("magic", "uint16")
_CHECKSUM = FieldSpec("checksum", "struct")
_STORED = FieldSpec("value", "uint32", lambda value: f"{value:#010x}")
_VALID = FieldSpec("valid", "bool")
_METADATA = FieldSpec("metadata", "struct")
_SECTIONS = {"metadata": _METADATA, "broker_entry_metadata": FieldSpec("broker_entry_metadata", "struct")}
_SIZE = LayoutSpec("size", "uint32")
_PAYLOAD = FieldSpec("payload", "bytes")
_STRUCTURE = FieldSpec("payload", "struct")
_CONTENT = Wrapping("content", "bytes")
_ENCRYPTED = FieldSpec("encrypted", "bool")
_CHUNK = FieldSpec("chunk", "struct")
_CHUNK_PARTS = {name: FieldSpec(name, kind) for name, kind in (("uuid", "string"), ("id", "int32"), ("total", "int32"))}
_MESSAGES = Many("messages", "array")
_PARTS = 2
"""Of a command: its type, and the body of that type."""

_HIDDEN = LayoutSpec("undecoded", "undecoded", secret=True)
"""A command with a secret in it that a wrong length broke: what follows may stand anywhere (wire.hiding)."""

MAGIC = 0x0E
"""What every magic begins with; a size would be one of 224 MiB, and no frame is so large."""

ALL_BITS = 0xFFFF_FFFF
NO_BITS = 0
"""The mask of what is said of a value as a whole, by something else."""


def read_frame(message: bytes) -> Tree:
    """Returns the annotated tree of a frame."""
    command, code, _ = find_command(message)
    doubts = []
    if command is None and code >= 0:
        doubts.append(Finding(Severity.NOTE, "unknown-operation", f"command type {code} is not in the tables"))
    tree = read_framed(message, UINT32, partial(_read_content, command=command), doubts)
    if command is None or command.secret or _has_secret_type(tree):
        if command is not None:
            _hide_broken(tree, command, message)
        hide_unread(tree.fields)
        hide_rest(tree.fields)
    return tree


def _read_content(reader: Reader, command: Command | None) -> None:
    """All behind the first size."""
    size = reader.take(_COMMAND_SIZE, UINT32)
    _read_part(reader, _COMMAND, make_base_command(None if command is None else command.code), (), size)
    if reader.at < reader.end and command is not None and command.code in (SEND, MESSAGE):
        _read_payload_part(reader)


def _has_secret_type(tree: Tree) -> bool:
    """Whether a command says a type twice, and one of them is of commands with secrets."""
    types = [node.value for part in tree.fields if part.spec is _COMMAND for node in part.children]
    return len(types) > _PARTS and any(command.secret for command in commands().values() if command.name in types)


def _hide_broken(tree: Tree, command: Command, message: bytes) -> None:
    """Hides a command that breaks, or that is more than its type and the body of that type.

    A command of which both sizes say that it was only cut short is not hidden.
    """
    node = next((node for node in tree.fields if node.spec is _COMMAND), None)
    total, size = SIZES.unpack_from(message)
    if node is None or min(total - UINT32.size, size) > len(message) - SIZES.size:
        return
    fits = {child.spec.name for child in node.children} <= {"type", command.field}
    if not fits or any(finding.code == DecodeError.code for finding in tree.findings):
        content = message[node.offset : node.offset + node.length]
        node.children = [Field(_HIDDEN, Secret(content), node.offset, node.length)]


def _read_part(
    reader: Reader, spec: FieldSpec, message: MessageType, head: tuple[FieldSpec, ...], size: int = -1
) -> bool:
    """A part of the frame that holds a message, behind magic and size if these are its `head`; True if it is sound."""
    reader.enter(spec)
    for each in head:
        size = reader.take(each, UINT16 if each is _MAGIC else UINT32)
    at, available = reader.at, reader.end - reader.at
    sound = reader.guard(partial(read_fields, message=message, whole=size <= available), at + min(size, available))
    if sound and size > available:
        raise TruncatedField(reader.path() or message.name, at, size, available)
    reader.leave()
    return sound


def _read_payload_part(reader: Reader) -> None:
    """What stands behind the command of a SEND or MESSAGE."""
    whole = reader.tree.fields[0].value <= len(reader.data) - UINT32.size
    sound = True
    for layout in payload_sections():
        if layout.magic is None:
            if _peek_magic(reader) >> 8 == MAGIC:
                why = f"is {_peek_magic(reader):#06x}, which is none that may stand here"
                raise MalformedField(reader.path("magic"), reader.at, why)
        elif _peek_magic(reader) != layout.magic:
            continue
        if layout.message is None:
            _read_checksum(reader, whole)
            continue
        head = (_SIZE,) if layout.magic is None else (_MAGIC, _SIZE)
        sound = _read_part(reader, _SECTIONS[layout.name], layout.message, head)
        if not sound and layout.magic is not None and reader.at == reader.end:
            return
    if not whole and reader.at == reader.end:
        return
    metadata = members(reader.into[-1].children) if sound else {}
    if not sound or is_opaque(metadata) or (not whole and metadata.get("compression", "NONE") != "NONE"):
        reader.leaf(_PAYLOAD, reader.data[reader.at : reader.end], reader.end)
        _add_wrapping(reader, describe_wrapping(metadata))
    else:
        read_payload(reader, metadata)


def _add_wrapping(reader: Reader, wrapping: dict[str, Any]) -> None:
    """What the metadata says of the payload that was added last."""
    if "encrypted" in wrapping:
        reader.bits(_ENCRYPTED, True, NO_BITS)
    if "chunk" in wrapping:
        reader.bits(_CHUNK, None, NO_BITS)
        chunk = reader.into[-1].children[-1]
        for name, value in wrapping["chunk"].items():
            part = Field(_CHUNK_PARTS[name], value, chunk.offset, chunk.length, chunk.source, bits=NO_BITS)
            chunk.children.append(part)


def _peek_magic(reader: Reader) -> int:
    return int.from_bytes(reader.data[reader.at : min(reader.at + 2, reader.end)])


def _read_checksum(reader: Reader, whole: bool) -> None:
    """The checksum, held against all bytes behind it if they are there."""
    reader.enter(_CHECKSUM)
    reader.take(_MAGIC, UINT16)
    stored = reader.take(_STORED, UINT32)
    if whole:
        from dissectors.wire.checksum import crc32c  # few frames have one

        computed = crc32c(reader.data[reader.at : reader.end])
        reader.bits(_VALID, stored == computed, ALL_BITS)
        if stored != computed:
            text = f"the checksum of metadata and payload is {stored:#010x}, these bytes have {computed:#010x}"
            reader.warn("crc-mismatch", text, reader.at - UINT32.size, reader.at)
    reader.leave()


def read_payload(reader: Reader, metadata: dict[str, Any]) -> None:
    """Reads a payload that is neither encrypted nor a chunk, up to the end."""
    form = classify_payload(metadata)
    spec, inside = _choose_reader(form)
    data = reader.data[reader.at : reader.end]
    if form.codec == "NONE":
        if inside is None:
            reader.leaf(spec, data, reader.end)
            return
        reader.enter(spec)
        node = reader.open[-1]
        reader.guard(inside, reader.end)
        reader.leave()
    else:
        try:
            data = _decompress_payload(reader, form, data)
        except DecodeError as error:
            reader.find(error)
            reader.leaf(_PAYLOAD, data, reader.end)
            return
        node = reader.leaf(spec, None, reader.end)
        inner = reader.read_decoded(node, f"payload, {form.codec}", data)
        inner.guard(inside or _read_plain, len(data))
    if spec is not _STRUCTURE:
        node.value = data


def _decompress_payload(reader: Reader, form: PayloadForm, data: bytes) -> bytes:
    if not isinstance(form.codec, str):
        raise MalformedField(reader.path("payload"), reader.at, f"has compression {form.codec}, which is none")
    return decompress(CODECS[form.codec], data, reader.budget, reader.path("payload"), reader.at, form.size)


def _choose_reader(form: PayloadForm) -> tuple[FieldSpec, Read | None]:
    """What a payload is, and what reads it; None where it is nothing but bytes."""
    if form.messages is not None:
        return _STRUCTURE, partial(_read_batch, count=form.messages)
    if form.marker is None:
        return _PAYLOAD, None
    holder = Holder("payload", "bytes", holds=form.marker.name)
    return holder, partial(read_fields, message=form.marker, whole=True)


def _read_plain(reader: Reader) -> None:
    reader.leaf(_CONTENT, reader.data, reader.end)


def _read_batch(reader: Reader, count: int) -> None:
    """Messages, each behind its metadata, whose size stands in front."""
    if count < 0:
        raise MalformedField(reader.path("messages"), reader.at, f"are {count}")
    reader.enter(_MESSAGES)
    single = library().message("SingleMessageMetadata")
    for index in range(count):
        reader.enter(element(index, "struct"))
        reader.enter(_METADATA)
        read_within(reader, single, reader.take(_SIZE, UINT32))
        reader.leave()
        size = members(reader.into[-1].children).get("payload_size")
        if not isinstance(size, int) or size < 0:
            raise MalformedField(reader.path("payload"), reader.at, f"has size {size}")
        reader.need(size, reader.at, "payload")
        stop = reader.at + size
        reader.leaf(_PAYLOAD, reader.data[reader.at : stop], stop)
        reader.leave()
    reader.leave()
    reader.rest(f"behind the {count} messages of the batch")
