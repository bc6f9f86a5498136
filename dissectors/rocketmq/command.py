"""A command's header to plain values: the fast way, for what is written as RocketMQ writes it.

Facts. A frame is an int32 length, an int32 whose highest byte says how the header is written and whose rest is the
header's length, the header, and the body up to the frame's end. Written as JSON (0) the header is one object; written
as ROCKETMQ (1) it is int16 code, int8 language, int16 version, int32 opaque, int32 flag, a remark behind an int32
length, and behind another one the extFields: each a key behind an int16 length and a value behind an int32.

Anything unusual raises one of emit.FAILURES, and command_fields.py says what it is.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from dissectors.rocketmq.codes import find_language
from dissectors.rocketmq.json_values import decode_json, has_duplicate_key
from dissectors.wire.varint import Unfit

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
    """The header of a frame. Raises one of emit.FAILURES where it is not whole or in any way unusual."""
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
