"""A command's header to plain values: the fast path for headers that are written as RocketMQ writes them.

Facts. A frame is an int32 length, an int32 whose highest byte says how the header is written and whose rest is the
header's length, the header, and the body up to the frame's end. Written as JSON (0) the header is one object; written
as ROCKETMQ (1) it is int16 code, int8 language, int16 version, int32 opaque, int32 flag, a remark behind an int32
length, and behind another one the extFields: each a key behind an int16 length and a value behind an int32.

Theory. Most of the JSON on the wire is strict, and the C parser of the standard library reads it fifty times faster
than a reader that keeps places. Anything unusual (fastjson's bare keys, broken text, deep nesting, secrets) raises one
of emit.FAILURES; then command_fields.py makes nodes, and the values are folded out of them.
"""

from __future__ import annotations

import json
from struct import Struct
from typing import NamedTuple

from dissectors.rocketmq.codes import find_language
from dissectors.wire.json_text import DEPTH
from dissectors.wire.nonfinite import float_value
from dissectors.wire.varint import Unfit

_DECODER = json.JSONDecoder(
    parse_float=lambda text: float_value(float(text)),
    parse_constant=lambda text: float_value(float(text)),
    strict=False,
)
_SPACE = " \t\r\n"


def decode_json(data: bytes) -> object:
    """Decodes a JSON object or array; its secrets are not masked. Raises Unfit for anything else."""
    try:
        text = data.decode()
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        raise Unfit from None
    if end != len(text) and text[end:].strip(_SPACE):
        raise Unfit
    if type(value) is not dict and type(value) is not list:
        raise Unfit
    if data.count(b"{") + data.count(b"[") > DEPTH and _is_too_deep(value):
        raise Unfit
    return value


def has_duplicate_key(data: bytes) -> bool:
    """Whether a key stands twice in an object; of JSON that json_value() could read, which keeps the last one alone."""
    found: list[bool] = []

    def note_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
        unique = dict(pairs)
        found.append(len(unique) < len(pairs))
        return unique

    json.loads(data, object_pairs_hook=note_duplicates, strict=False)
    return any(found)


def decode_json_body(data: bytes) -> object:
    """Decodes a JSON body. Raises Unfit where something in it may have to be hidden."""
    from dissectors.rocketmq.secrets import may_hide_secret  # headers alone need none

    if may_hide_secret(data):
        raise Unfit
    return decode_json(data)


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node if type(node) is list else ())
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


MARK = Struct(">II")
JSON, BINARY = 0, 1
CODE, OPAQUE, EXT = "code", "opaque", "extFields"
SERIALIZE = ("JSON", "ROCKETMQ")
HEAD = 8
"""Bytes in front of the header."""

FIXED = Struct(">hbhiii")
"""A binary header up to the remark: code, language, version, opaque, flag, and the remark's length."""

_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1
_KEY = Struct(">h")
_SIZE = Struct(">i")


class CommandHeader(NamedTuple):
    """A header as it stands on the wire; `code` is a request's or a response's. stop: the offset behind it."""

    code: int
    language: str | int
    version: int
    opaque: int
    flag: int
    remark: str | None
    ext: dict[str, str]
    serialize: str
    stop: int


def decode_command(message: bytes) -> CommandHeader:
    """Returns the header of a frame. Raises one of emit.FAILURES where it is not whole or in any way unusual."""
    _, mark = MARK.unpack_from(message)
    stop = HEAD + (mark & 0xFF_FFFF)
    if stop > len(message):
        raise Unfit
    kind = mark >> 24
    if kind == JSON:
        return _decode_json(message[HEAD:stop], stop)
    if kind == BINARY:
        return _decode_binary(message, stop)
    raise Unfit


def _decode_json(data: bytes, stop: int) -> CommandHeader:
    found = decode_json(data)
    if type(found) is not dict:
        raise Unfit
    get = found.get
    code, version, opaque, flag = get("code"), get("version"), get("opaque"), get("flag")
    name, remark, ext = get("language"), get("remark"), get("extFields")
    if not type(code) is type(version) is type(opaque) is type(flag) is int or type(name) is not str:
        raise Unfit
    if ext is None:
        ext = {}
    elif type(ext) is not dict or not all(type(value) is str for value in ext.values()):
        raise Unfit
    if remark is not None and type(remark) is not str:
        raise Unfit
    if min(code, version, opaque, flag) < _LOWEST or max(code, version, opaque, flag) > _HIGHEST:
        raise Unfit
    if data.count(b":") != len(found) + len(ext) and has_duplicate_key(
        data
    ):  # each key has a colon; other texts may, too
        raise Unfit
    return CommandHeader(code, name, version, opaque, flag, remark, ext, "JSON", stop)


def _decode_binary(message: bytes, stop: int) -> CommandHeader:
    code, number, version, opaque, flag, size = FIXED.unpack_from(message, HEAD)
    at = HEAD + FIXED.size
    end = at + size
    remark = message[at:end].decode() or None
    left = _SIZE.unpack_from(message, end)[0]
    at = end + _SIZE.size
    if size < 0 or at + left != stop:
        raise Unfit
    ext: dict[str, str] = {}
    while at < stop:
        size = _KEY.unpack_from(message, at)[0]
        end = at + 2 + size
        length = _SIZE.unpack_from(message, end)[0]
        if size < 0 or length < 0:
            raise Unfit
        name = message[at + 2 : end].decode()
        at = end + 4 + length
        value = message[end + 4 : at].decode()
        if ext.setdefault(name, value) != value:
            raise Unfit
    if at != stop:
        raise Unfit
    return CommandHeader(code, find_language(number), version, opaque, flag, remark, ext, "ROCKETMQ", stop)
