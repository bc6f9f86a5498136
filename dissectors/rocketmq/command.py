"""A command's header to values, plain or symbolic (wire.frame): headers that are written as RocketMQ writes them.

Facts. A frame is an int32 length, an int32 whose highest byte is the header's format and whose rest is the header's
length, the header, and the body up to the frame's end. In the format JSON (0) the header is one object. In the format
ROCKETMQ (1) it is int16 code, int8 language, int16 version, int32 opaque, int32 flag, a remark behind an int32 length,
and behind another length the extFields: each a key behind an int16 length and a value behind an int32.

Theory. Most of the JSON on the wire is strict, and the C parser of the standard library reads it fifty times faster
than a reader that records places. Anything unusual (fastjson's bare keys, broken text, deep nesting, secrets) raises
one of emit.FAILURES; then command_fields.py makes nodes, and the values are folded from them.
"""

from __future__ import annotations

import json
from itertools import repeat
from struct import Struct
from typing import Any, NamedTuple

from dissectors.rocketmq.codes import find_language
from dissectors.wire.frame import Frame
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
_OPAQUE_AT = 5
_KEY = Struct(">h")
_SIZE = Struct(">i")


class CommandHeader(NamedTuple):
    """A header as it stands on the wire; `code` is a request's or a response's. stop: the offset behind it."""

    code: int
    language: str | int
    version: int
    flag: int
    remark: str | None
    ext: dict[str, Any]
    serialize: str
    stop: int


def decode_command(frame: Frame) -> CommandHeader:
    """Returns the header of a frame. Raises one of emit.FAILURES where it is not whole or in any way unusual."""
    begin = frame.begin
    total, mark = MARK.unpack_from(frame.data, begin)
    kind, at = mark >> 24, begin + HEAD
    stop = at + (mark & 0xFF_FFFF)
    if begin + _SIZE.size + total != frame.end or stop > frame.end or kind not in (JSON, BINARY):
        raise Unfit
    frame.declare_size(begin, begin + _SIZE.size, frame.end)
    frame.declare_size(begin + _SIZE.size, at, stop, kind << 24)
    return (_decode_json if kind == JSON else _decode_binary)(frame, at, stop)


def _decode_json(frame: Frame, at: int, stop: int) -> CommandHeader:
    found = frame.json(at, stop, _decode_object)
    get, specialise = found.get, frame.specialise
    code, version, flag = specialise(get("code")), specialise(get("version")), specialise(get("flag"))
    name = specialise(get("language"))
    opaque, remark, ext = get("opaque"), get("remark"), get("extFields")
    if not type(code) is type(version) is type(flag) is int or type(name) is not str:
        raise Unfit
    if not isinstance(opaque, int) or isinstance(opaque, bool) or not (remark is None or isinstance(remark, str)):
        raise Unfit
    if ext is None:
        ext = {}
    elif type(ext) is not dict or not all(map(isinstance, ext.values(), repeat(str))):
        raise Unfit
    if not (_LOWEST <= code <= _HIGHEST and _LOWEST <= version <= _HIGHEST and _LOWEST <= flag <= _HIGHEST):
        raise Unfit
    if not _LOWEST <= opaque <= _HIGHEST:
        raise Unfit
    return CommandHeader(code, name, version, flag, remark, ext, "JSON", stop)


def _decode_object(data: bytes) -> dict[str, Any]:
    """Decodes the object of a header in which no name stands twice. Raises Unfit for anything else."""
    found = decode_json(data)
    if type(found) is not dict:
        raise Unfit
    ext = found.get(EXT)
    names = len(found) + (len(ext) if type(ext) is dict else 0)
    if data.count(b":") != names and has_duplicate_key(data):  # each key has a colon; other texts may, too
        raise Unfit
    return found


def _decode_binary(frame: Frame, at: int, stop: int) -> CommandHeader:
    data = frame.data
    code, number, version, _, flag, size = FIXED.unpack_from(data, at)
    frame.leave_open(at + _OPAQUE_AT)
    at += FIXED.size
    end = at + size
    left = _SIZE.unpack_from(data, end)[0]
    if size < 0 or end + _SIZE.size + left != stop:
        raise Unfit
    remark = frame.text(at, end) or None
    at = end + _SIZE.size
    frame.declare_size(end, at, stop, code="i")
    ext: dict[str, Any] = {}
    while at < stop:
        size = _KEY.unpack_from(data, at)[0]
        end = at + _KEY.size + size
        length = _SIZE.unpack_from(data, end)[0]
        name, begin = data[at + _KEY.size : end].decode(), end + _SIZE.size
        at = begin + length
        if size < 0 or length < 0 or at > stop:
            raise Unfit
        text = frame.text(begin, at, name)
        if name in ext and (type(text) is not str or ext[name] != text):
            raise Unfit
        ext[name] = text
    return CommandHeader(code, find_language(number), version, flag, remark, ext, "ROCKETMQ", stop)
