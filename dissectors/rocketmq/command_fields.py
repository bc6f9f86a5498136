"""A command's header to nodes, with the place of every value and what is broken; command.py makes values alone.

Theory. `code` and `opaque` are the row's, so here they stand around the values. extFields are as on the wire, and
below each is the value that the operation's header class makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from dissectors.errors import MalformedField
from dissectors.field import FieldSpec, Label
from dissectors.rocketmq.codes import (
    HeaderField,
    decode_binary_code,
    find_language,
    find_operation_name,
    find_response_name,
    find_version_name,
)
from dissectors.rocketmq.command import BINARY, CODE, EXT, HEAD, JSON, OPAQUE, SERIALIZE
from dissectors.rocketmq.labels import format_command_flag
from dissectors.rocketmq.secrets import SECRETS, may_hide_secret, mentions_secret
from dissectors.rocketmq.tables import table
from dissectors.wire import json_text
from dissectors.wire.primitive import INT8, INT16, INT32, UINT32, FixedWidth, Length
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, Wrapping
from dissectors.wire.varint import Unfit

HEADER = LayoutSpec("header", "struct")
ALL = -1
"""The mask of a part that is all of its node."""

HeaderClass = Mapping[str, HeaderField]

_MARK = LayoutSpec("headerMark", "uint32")
_SERIALIZE = FieldSpec("serialize", "string")
_HEADER_LENGTH = Wrapping("headerLength", "uint24")
_EXT_LENGTH = LayoutSpec("length", "int32")
_LANGUAGE = FixedWidth(INT8.type, INT8.code, find_language)
_REQUEST_CODE = FixedWidth(INT16.type, INT16.code, decode_binary_code)
_KEY_LENGTH = Length("int16", "h")
_LENGTH = Length("int32", "i")

_LABELS: Mapping[str, Label] = {"version": find_version_name, "flag": format_command_flag}
_VALUES = frozenset({"language", "version", "flag", "remark", EXT})
_NUMBERS = frozenset({CODE, OPAQUE, "version", "flag"})
_KNOWN = _VALUES | {CODE, OPAQUE}

_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1

_BEHIND = b", \t\r\n"
"""What is behind a member's value and belongs to its node."""


@lru_cache(maxsize=1024)
def _make_spec(name: str, kind: str, response: bool = False, number: bool = True) -> FieldSpec:
    """number: whether the value is one that labels know."""
    label = (find_response_name if response else find_operation_name) if name == CODE else _LABELS.get(name)
    return (FieldSpec if name in _VALUES else Wrapping)(name, kind, label if number else None)


@lru_cache(maxsize=4096)
def _make_ext_spec(name: str, kind: str, secret: bool) -> FieldSpec:
    return FieldSpec(name, kind, None, secret)


def read_mark(reader: Reader) -> tuple[int, int]:
    """Reads how the header is encoded; returns it and the offset after it."""
    mark: int = reader.take(_MARK, UINT32)
    kind, size = mark >> 24, mark & 0xFF_FFFF
    reader.bits(_SERIALIZE, SERIALIZE[kind] if kind < len(SERIALIZE) else str(kind), 0xFF00_0000)
    reader.bits(_HEADER_LENGTH, size, 0x00FF_FFFF)
    if kind not in (JSON, BINARY):
        raise MalformedField("serialize", HEAD // 2, f"is {kind}, which is none")
    return kind, HEAD + size


def read_header(reader: Reader, kind: int, response: bool, fields: HeaderClass) -> None:
    """Reads a header, up to the reader's end, into the node that is open. fields: of the operation's header class."""
    (_read_json if kind == JSON else _read_binary)(reader, response, fields)
    if reader.at < reader.end:
        raise MalformedField("header", reader.at, f"is {reader.end - reader.at} bytes longer than what is in it")


def _read_pair(
    reader: Reader, name: str, kind: str, value: str | bytes | None, content: int, stop: int, fields: HeaderClass
) -> None:
    """One of extFields, from the cursor to `stop`, its value from `content` on, and what its class makes of it."""
    may_hide = kind == "json_value" and may_hide_secret(reader.data[content:stop])
    secret = (name in SECRETS or may_hide) and value is not None
    shown = Secret(value) if secret and value is not None else value
    at = reader.at
    reader.leaf(_make_ext_spec(name, kind, secret), shown, stop, content - at)
    field = fields.get(name)
    if field is None or value is None:
        return
    typed: object = shown
    if field.convert is not None and isinstance(value, str):
        try:
            typed = field.convert(value)
        except Unfit:
            reader.warn("malformed-body", f"{reader.path(name)} is no {field.spec.type}", at, stop)
    if field.is_converted:
        reader.bits(field.spec, typed, ALL)


def _report_duplicates(reader: Reader, pairs: Sequence[tuple[str, bytes]]) -> None:
    """Says which names stand twice in the container that ends here: other readers may take the first one.

    pairs: names, and what stands behind them. Where that is the same, each reader takes the same: Java's client writes
    fields twice when it signs a binary header (RemotingCommand.makeCustomHeaderToNet has put them into the map that
    fastEncode writes behind the header's own).
    """
    first: dict[str, bytes] = {}
    if len({name for name, _ in pairs}) == len(pairs):
        return
    name = next((name for name, value in pairs if first.setdefault(name, value) != value), None)
    if name is not None:
        text = table("expert_info")["twice"].format(name=reader.path(name))
        reader.warn("duplicate-key", text, reader.open[-1].offset, reader.at)


def _decode_text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


# ---- binary


def _read_binary(reader: Reader, response: bool, fields: HeaderClass) -> None:
    reader.take(_make_spec(CODE, "int16", response), INT16 if response else _REQUEST_CODE)
    reader.take(_make_spec("language", "int8"), _LANGUAGE)
    reader.take(_make_spec("version", "int16"), INT16)
    reader.take(_make_spec(OPAQUE, "int32"), INT32)
    reader.take(_make_spec("flag", "int32"), INT32)
    size, at = _read_size(reader, _LENGTH, reader.at, "remark")
    remark = _decode_text(reader.data[at : at + size])
    reader.leaf(_make_spec("remark", "string"), remark or None, at + size, at - reader.at)
    size, at = _read_size(reader, _LENGTH, reader.at, EXT)
    if size == 0:
        reader.leaf(_make_spec(EXT, "map"), {}, at, at - reader.at)
        return
    stop = at + size
    reader.enter(_make_spec(EXT, "map"))
    reader.leaf(_EXT_LENGTH, size, at)
    pairs: list[tuple[str, bytes]] = []
    is_sensitive_message = mentions_secret(reader.data[at:stop])
    while reader.at < stop:
        size, at = _read_size(reader, _KEY_LENGTH, reader.at, "key")
        name = reader.data[at : at + size].decode("utf-8", "backslashreplace")
        called = (
            "value" if is_sensitive_message and name not in fields else name
        )  # a wrong length may make a secret a name
        size, at = _read_size(reader, _LENGTH, at + size, called)
        if at + size > stop:
            raise MalformedField(reader.path(called), at, f"runs over the end of {EXT}")
        value = reader.data[at : at + size]
        pairs.append((name, value))
        _read_pair(reader, name, "string", _decode_text(value), at, at + size, fields)
    _report_duplicates(reader, pairs)
    reader.leave()


def _read_size(reader: Reader, length: Length, at: int, name: str) -> tuple[int, int]:
    """A length at an offset, of bytes that are there, and the offset behind it."""
    size, content = reader.number(length, at, name)
    if size < 0:
        raise MalformedField(reader.path(name), at, f"has length {size}")
    reader.need(size, content, name)
    return size, content


# ---- JSON


def _read_json(reader: Reader, response: bool, fields: HeaderClass) -> None:
    pairs: list[tuple[str, bytes]] = []
    for name, at in json_text.members(reader, json_text.space(reader, reader.at), "header"):
        if name == EXT:
            _read_ext(reader, at, fields)
        else:
            _read_member(reader, name, at, response)
        pairs.append((name, reader.data[at : reader.at].rstrip(_BEHIND)))
    _report_duplicates(reader, pairs)


def _read_member(reader: Reader, name: str, at: int, response: bool) -> None:
    value: object
    end = json_text.extent(reader, at, name)
    if reader.data[at] in b"{[":
        value, kind = _decode_text(reader.data[at:end]), "json_object"
    else:
        value, kind = json_text.scalar(reader, at, end, name)
    if name == "language" and type(value) is int:
        value = find_language(value)
    begin, stop = reader.at, json_text.find_next_token(reader, end)
    if (kind == "json_object" or name not in _KNOWN) and may_hide_secret(reader.data[begin:stop]):
        spec = (FieldSpec if name in _VALUES else Wrapping)(name, kind, None, True)
        reader.leaf(spec, Secret(reader.data[at:end]), stop, at - begin)
        return
    reader.leaf(_make_spec(name, kind, response, type(value) is int), value, stop, at - begin)
    if name in _NUMBERS and not (type(value) is int and _LOWEST <= value <= _HIGHEST):
        text = table("expert_info")["number"].format(name=reader.path(name))
        reader.warn("malformed-body", text, begin, reader.at)


def _read_ext(reader: Reader, at: int, fields: HeaderClass) -> None:
    """The object of extFields; null is an empty one. Values that are no text are given as they stand."""
    if reader.data[at : min(at + 4, reader.end)] == b"null":
        reader.leaf(_make_spec(EXT, "json_null"), {}, json_text.find_next_token(reader, at + 4), at - reader.at)
        return
    reader.enter(_make_spec(EXT, "json_object"))
    pairs: list[tuple[str, bytes]] = []
    for name, content in json_text.members(reader, at, ""):
        end = json_text.extent(reader, content, name)
        raw = reader.data[content:end]
        pairs.append((name, raw))
        quoted = raw[:1] in (b'"', b"'")
        value = json_text.text(raw) if quoted else None if raw == b"null" else _decode_text(raw)
        kind = "json_string" if quoted else "json_value"
        _read_pair(reader, name, kind, value, content, json_text.find_next_token(reader, end), fields)
    _report_duplicates(reader, pairs)
    reader.leave()
