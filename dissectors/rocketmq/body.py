"""A command's body: its kind, its values, and its tree.

Facts. The operation and the direction determine the format of a body: JSON, stored messages, a batch, text (Java
properties), or an application's bytes, which the header's sysFlag may mark as compressed. A body of an operation that
no table knows, or that does not have its operation's format, stays bytes.

Facts. Before version 5 the body of REGISTER_BROKER is zlib by default, whether or not the header says so. Inside, each
part is behind an int32 length: a DataVersion as JSON; behind a count the topics, as words between spaces; a list of
filter servers as JSON; and in version 5, behind another count, the queue mappings as JSON. It is sent only every thirty
seconds, so it has one reader, and values are folded from its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from dissectors.api import Context
from dissectors.errors import DecodeError, MalformedField
from dissectors.field import Field, FieldSpec, Label
from dissectors.rocketmq.codes import operations
from dissectors.rocketmq.labels import COMPRESSED, format_permission
from dissectors.rocketmq.secrets import HINT, SECRETS, is_sensitive, may_hide_secret
from dissectors.rocketmq.stored import BATCH, MESSAGES, add_uncompressed, can_be_item, can_be_stored, decompress_body
from dissectors.wire.codecs import decompress
from dissectors.wire.frame import Frame
from dissectors.wire.frame import Read as Decode
from dissectors.wire.json_strict import decode_json, is_json
from dissectors.wire.json_text import read_json, space
from dissectors.wire.primitive import Length
from dissectors.wire.reader import Read, Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, Many
from dissectors.wire.varint import Unfit

ZLIB = b"\x78"
"""The first byte of a zlib stream with a window of 32 KiB, as Java writes it; no JSON begins with it."""

_LENGTH = Length("int32", "i")
_SIZE = LayoutSpec("length", "int32")
_COUNT = LayoutSpec("count", "int32")
_WRAPPER = FieldSpec("topicConfigSerializeWrapper", "struct")
_TOPICS = FieldSpec("topicConfigTable", "map")
_MAPPINGS = Many("topicQueueMappingInfos", "array")
_NUMBERS: Mapping[str, Label | None] = {"readQueueNums": None, "writeQueueNums": None, "perm": format_permission}


def read_registration(reader: Reader) -> None:
    """Reads the uncompressed body into the node that is open."""
    reader.enter(_WRAPPER)
    _read_sized(reader, "dataVersion", partial(read_json, name="dataVersion", secrets=SECRETS))
    reader.enter(_TOPICS)
    for _ in range(_read_count(reader, "topicConfigTable")):
        _read_sized(reader, "topic", _read_topic)
    reader.leave()
    reader.leave()
    _read_sized(reader, "filterServerList", partial(read_json, name="filterServerList", secrets=SECRETS))
    if reader.at < reader.end:
        reader.enter(_MAPPINGS)
        for index in range(_read_count(reader, _MAPPINGS.name)):
            _read_sized(reader, f"[{index}]", partial(read_json, name=f"[{index}]", secrets=SECRETS))
        reader.leave()
    if reader.at < reader.end:
        raise MalformedField(reader.path("body"), reader.at, f"has {reader.end - reader.at} bytes more than its parts")


def _read_count(reader: Reader, name: str) -> int:
    count, at = reader.number(_LENGTH, reader.at, name)
    reader.need(max(count, 0) * _LENGTH.size, at, f"{name} ({count} elements)")
    reader.leaf(_COUNT, count, at)
    return count


def _read_sized(reader: Reader, name: str, read: Callable[[Reader], None]) -> None:
    size, at = reader.number(_LENGTH, reader.at, name)
    if size < 0:
        raise MalformedField(reader.path(name), reader.at, f"has length {size}")
    reader.need(size, at, name)
    reader.leaf(_SIZE, size, at)
    before, reader.end = reader.end, at + size
    read(reader)
    if reader.at != reader.end:
        raise MalformedField(reader.path(name), at, f"takes {reader.at - at} of its {size} bytes")
    reader.end = before


def _read_topic(reader: Reader) -> None:
    """Name, numbers of queues, permission, filter type, and from version 5 on attributes as JSON."""
    name, _, rest = reader.data[reader.at : reader.end].partition(b" ")
    words = rest.split(b" ", len(_NUMBERS) + 1)
    if len(words) <= len(_NUMBERS) or not all(word.isdigit() for word in words[: len(_NUMBERS)]):
        raise MalformedField(reader.path("topic"), reader.at, "is no topic")
    reader.enter(FieldSpec(name.decode("utf-8", "backslashreplace"), "struct"))
    _add_word(reader, FieldSpec("topicName", "string"), _decode_lenient(name), len(name))
    for (field, label), word in zip(_NUMBERS.items(), words, strict=False):
        _add_word(reader, FieldSpec(field, "int", label), int(word), len(word))
    _add_word(
        reader, FieldSpec("topicFilterType", "string"), _decode_lenient(words[len(_NUMBERS)]), len(words[len(_NUMBERS)])
    )
    if reader.at < reader.end:
        read_json(reader, "attributes", SECRETS)
    reader.leave()


def _add_word(reader: Reader, spec: FieldSpec, value: object, length: int) -> None:
    """A word and the space behind it."""
    reader.leaf(spec, value, min(reader.at + length + 1, reader.end))


def _decode_lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


_NAME = "body"
_BYTES = FieldSpec(_NAME, "bytes")
_TEXT = FieldSpec(_NAME, "string")
_SECRET_TEXT = FieldSpec(_NAME, "string", secret=True)
_STRUCT = FieldSpec(_NAME, "struct")
_ZLIB = FieldSpec(_NAME, "zlib")
_JSON_BEGINS = (b"{", b"[")
_SECRET_BYTES = FieldSpec(_NAME, "bytes", secret=True)
CHECKPOINT = "checkpoint"
"""A kind of body that is bytes in the values; a tree has what is in them (nested)."""

UNDECLARED = "undeclared"
"""That of an answer whose operation declares no body: JSON, where it is some, else bytes."""


def find_body_kind(code: int | None, response: bool) -> str | None:
    """Returns how the body of an operation's request or answer is encoded; None for bytes."""
    operation = operations().get(code) if code is not None else None
    if operation is None:
        return None
    return (operation.response_body or UNDECLARED) if response else operation.request_body


def resolve_body_kind(kind: str | None, header: Mapping[str, object], body: bytes) -> str | None:
    """Returns the kind of a body behind its header: what calls itself a batch is one, whatever code sends it.

    Brokers ask the header alone (SendMessageProcessor.processRequest). What is undeclared tells itself.
    """
    if kind == UNDECLARED:
        return "json" if body.lstrip(b" \t\r\n")[:1] in _JSON_BEGINS and is_json(body) else None
    return "batch" if kind == "payload" and header.get("batch") is True else kind


# ---- values


def decode_body(frame: Frame, at: int, kind: str | None, header: Mapping[str, object]) -> dict[str, Any] | None:
    """Returns `body`, and what stands beside it, of a list of messages or of what an application sends; else None.

    header: by the header class, for its sysFlag. Raises one of emit.FAILURES.
    """
    if kind in _LISTS:
        return {"body": {"messages": frame.content(at, _LISTS[kind])}}
    if kind != "payload":
        return None
    found, flag = {"body": frame.rest(at)}, header.get("sysFlag")
    if type(flag) is int and flag & COMPRESSED:
        found["bodyUncompressed"] = frame.content(at, _make_decompressor(flag))
    return found


_LISTS: Mapping[str | None, Decode] = {
    "messages": lambda content, budget: MESSAGES.decode(content, 0, budget),
    "batch": lambda content, budget: BATCH.decode(content, 0, budget),
}


@lru_cache(maxsize=256)
def _make_decompressor(flag: int) -> Decode:
    """What decompresses bodies as a sysFlag says."""
    return lambda content, budget: decompress_body(flag, content, budget, 0)


def decode_rest(frame: Frame, at: int, kind: str | None, context: Context) -> dict[str, Any]:
    """Returns `body` for all other kinds. Raises one of emit.FAILURES."""
    data = frame.data[at : frame.end]
    if kind == "json" or (kind == "registration" and data[:1] != ZLIB):
        if may_hide_secret(data):
            raise Unfit
        return {"body": decode_json(data)}
    if kind == "text":
        text = data.decode()
        return {"body": Secret(text) if is_sensitive(text) else text}
    if kind is not None and kind != CHECKPOINT:
        raise Unfit
    return {"body": Secret(data) if HINT.search(data) else data}


# ---- nodes


def read_body(reader: Reader, kind: str | None, stop: int, header: Mapping[str, object]) -> None:
    """Reads the body up to the reader's end; it goes to `stop`, should fewer bytes have been captured."""
    kind = resolve_body_kind(kind, header, reader.data[reader.at : reader.end])
    if kind == "payload":
        _read_payload(reader, header)
    elif kind == "text":
        _read_text(reader)
    elif kind == "registration" and reader.data[reader.at : reader.at + 1] == ZLIB:
        _read_registration(reader)
    elif kind in ("json", "registration"):
        _read_json(reader)
    elif kind == "messages":
        _read_items(reader, can_be_stored(reader, stop), MESSAGES.read_items, "stored message")
    elif kind == "batch":
        _read_items(reader, can_be_item(reader, stop), BATCH.read_items, "batch")
    elif HINT.search(reader.data, reader.at, reader.end):
        reader.leaf(_SECRET_BYTES, Secret(reader.data[reader.at : reader.end]), reader.end)
    else:
        _add_leaf(reader)


def _add_leaf(reader: Reader) -> Field:
    return reader.leaf(_BYTES, reader.data[reader.at : reader.end], reader.end)


def _refuse_body(reader: Reader, why: str) -> None:
    at = reader.at
    _add_leaf(reader)
    reader.find(MalformedField(_NAME, at, why))


def _read_items(reader: Reader, fits: bool, read: Read, what: str) -> None:
    if not fits:
        _refuse_body(reader, f"is no {what}")
        return
    reader.enter(_STRUCT)
    read(reader)
    reader.leave()


def _read_payload(reader: Reader, header: Mapping[str, object]) -> None:
    _add_leaf(reader)
    flag = header.get("sysFlag")
    if type(flag) is int and flag & COMPRESSED:
        add_uncompressed(reader, flag)


def _read_text(reader: Reader) -> None:
    try:
        text = reader.data[reader.at : reader.end].decode()
    except UnicodeDecodeError:
        _add_leaf(reader)
        return
    if is_sensitive(text):
        reader.leaf(_SECRET_TEXT, Secret(text), reader.end)
    else:
        reader.leaf(_TEXT, text, reader.end)


def _read_json(reader: Reader) -> None:
    at = space(reader, reader.at)
    if reader.data[at : min(at + 1, reader.end)] in _JSON_BEGINS:
        read_json(reader, _NAME, SECRETS)
    else:
        _refuse_body(reader, "is no JSON")


def _read_registration(reader: Reader) -> None:
    at = reader.at
    try:
        plain = decompress("zlib", reader.data[at : reader.end], reader.budget, _NAME, at)
    except DecodeError as error:
        _add_leaf(reader)
        reader.find(error)
        return
    inner = reader.read_decoded(reader.leaf(_ZLIB, None, reader.end), f"{_NAME}, zlib", plain)
    inner.guard(read_registration, len(plain))
