"""Templates of RocketMQ's frames: what may differ between frames that are alike (wire.frame_template).

Theory. The names in a header, and their order, belong to the template, as do code, flag, language and version. The
opaque number and the values of extFields may differ, also in length: in a JSON header they end at a quote, in a binary
one sizes stand in front. Where the header class says that such a text is a number, it stays one. A message's properties
are a text of several, whose names belong to the template. Bodies of applications may be any bytes; JSON differs by
itself; stored messages are a value of their own within the frame; the bytes of all other bodies belong to the template.

A secret is a symbolic value of its length alone. Frames with findings, or with numbers that are written otherwise, get
no template.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from dissectors.api import Body, Context, Role
from dissectors.rocketmq.body import find_body_kind, resolve_body_kind
from dissectors.rocketmq.codes import HeaderField, find_header_class, find_language
from dissectors.rocketmq.command import BINARY, EXT, FIXED, HEAD, JSON, MARK, SERIALIZE, CommandHeader
from dissectors.rocketmq.command_fields import HEADER, HeaderClass
from dissectors.rocketmq.labels import COMPRESSED
from dissectors.rocketmq.message import KEYS, assemble_body, decode_values
from dissectors.rocketmq.secrets import SECRETS
from dissectors.rocketmq.stored import BATCH, MESSAGES, NAME_VALUE, decompress_body
from dissectors.wire.frame_template import Read, SymbolicFrame, build_template
from dissectors.wire.secret import VeiledSecret
from dissectors.wire.varint import Unfit

LARGE = 4096
"""Most bytes of a body that belongs to the template."""

_OFTEN = frozenset((34, 38, 322))
"""HEART_BEAT, GET_CONSUMER_LIST_BY_GROUP, QUERY_DATA_VERSION: what is asked every few seconds.

Other JSON bodies are rare, or repeat unchanged; they belong to the template.
"""

_SIZE, _KEY = 4, 2
_MARK_AT, _OPAQUE_AT = 4, 5
_ANY = 0
"""The opaque number, which is the row's."""

_MEMBERS = frozenset(("code", "flag", "language", "opaque", "version"))
"""What a JSON header always has."""

_BOUNDS = {"int": (-(1 << 31), (1 << 31) - 1), "long": (-(1 << 63), (1 << 63) - 1)}


class _FrameReader:
    """Reads a frame. Raises NotTemplatable or one of emit.FAILURES."""

    def __init__(self, frame: SymbolicFrame, context: Context) -> None:
        self._frame, self._context = frame, context
        self._fields: HeaderClass = find_header_class(context.code, context.role is Role.RESPONSE) or {}
        self._header: dict[str, Any] = {}
        self._secrets: dict[str, VeiledSecret] = {}

    def read_frame(self) -> Body:
        """Reads the whole frame."""
        frame, begin = self._frame, self._frame.begin
        total, mark = MARK.unpack_from(frame.data, begin)
        kind, at = mark >> 24, begin + HEAD
        stop = at + (mark & 0xFF_FFFF)
        if begin + _SIZE + total != frame.end or stop > frame.end or kind not in (JSON, BINARY):
            raise Unfit
        frame.size(begin, begin + _SIZE, frame.end)
        frame.size(begin + _MARK_AT, at, stop, bias=kind << 24)
        command = (self._read_json if kind == JSON else self._read_binary)(at, stop)
        header = self._header
        if "sysFlag" in header:  # decides how the body is to be read
            header["sysFlag"] = frame.specialise(header["sysFlag"])
        has_class = find_header_class(self._context.code, self._context.role is Role.RESPONSE) is not None
        found = assemble_body(command, header if has_class else None, self._read_body(stop), self._context)
        found.values[EXT].update(self._secrets)
        return found

    # ---- the header

    def _read_json(self, at: int, stop: int) -> CommandHeader:
        frame = self._frame
        reader = frame.json(stop, names_end=NAME_VALUE)
        found: dict[str, Any] = {}

        def member(name: str, begin: int) -> int:
            if name == EXT and frame.data[begin : begin + 1] == b"{":
                found[EXT] = {}
                return reader.members(begin, pair)
            found[name], end = reader.value(begin)
            return end

        def pair(name: str, begin: int) -> int:
            text, end = reader.text(begin)
            found[EXT][name] = self._read_ext_value(name, text, begin + 1, end - 1)
            return end

        if reader.members(at, member) != stop or not found.keys() >= _MEMBERS:
            raise Unfit
        opaque, remark, ext = found["opaque"], found.get("remark"), found.get(EXT)
        code, version, flag, name = (frame.specialise(found[each]) for each in ("code", "version", "flag", "language"))
        if not type(code) is type(version) is type(flag) is int or type(name) is not str:
            raise Unfit
        low, high = _BOUNDS["int"]
        if (
            not isinstance(opaque, int)
            or not low <= opaque <= high
            or not (remark is None or isinstance(remark, str))
            or isinstance(ext, list)
        ):
            raise Unfit
        return CommandHeader(code, name, version, _ANY, flag, remark, ext or {}, SERIALIZE[JSON], stop)

    def _read_binary(self, at: int, stop: int) -> CommandHeader:
        frame = self._frame
        code, number, version, opaque, flag, size = FIXED.unpack_from(frame.data, at)
        frame.leave_open(at + _OPAQUE_AT)
        at += FIXED.size
        if size < 0:
            raise Unfit
        remark = frame.text(at, at + size, NAME_VALUE) or None
        at += size + _SIZE
        if at + int.from_bytes(frame.data[at - _SIZE : at], signed=True) != stop:
            raise Unfit
        frame.size(at - _SIZE, at, stop, code="i")
        ext: dict[str, Any] = {}
        while at < stop:
            value_at = at + _KEY + int.from_bytes(frame.data[at : at + _KEY]) + _SIZE
            name = frame.data[at + _KEY : value_at - _SIZE].decode()
            at = value_at + int.from_bytes(frame.data[value_at - _SIZE : value_at], signed=True)
            if not value_at <= at <= stop or name in ext:
                raise Unfit
            text = frame.text(value_at, at, NAME_VALUE, as_run=name in SECRETS)
            ext[name] = self._read_ext_value(name, text, value_at, at)
        return CommandHeader(code, find_language(number), version, opaque, flag, remark, ext, SERIALIZE[BINARY], stop)

    def _read_ext_value(self, wire: str, text: Any, begin: int, end: int) -> Any:
        """A value of extFields between two places, of which the header class makes its own; of a secret its length."""
        field = self._fields.get(wire)
        if wire in SECRETS:
            self._secrets[wire] = veiled = VeiledSecret.with_length(self._frame.length(text, begin, end))
            if field is not None:
                self._header[field.name] = veiled
            return ""
        if field is not None:
            self._header[field.name] = self._convert_value(field, text, begin, end)
        return text

    def _convert_value(self, field: HeaderField, text: Any, begin: int, end: int) -> object:
        if field.convert is None:
            return text
        bounds = _BOUNDS.get(field.spec.type)
        number = None if bounds is None else self._frame.number(text, begin, end, bounds)
        return field.convert(self._frame.specialise(text)) if number is None else number

    # ---- the body

    def _read_body(self, at: int) -> dict[str, Any]:
        """`body`, and what stands beside it."""
        frame, context = self._frame, self._context
        if at == frame.end:
            return {"body": None}
        kind = resolve_body_kind(
            find_body_kind(context.code, context.role is Role.RESPONSE), self._header, frame.data[at : frame.end]
        )
        if kind == "payload":
            flag = self._header.get("sysFlag", 0)
            found = {"body": frame.rest(at)}
            return (
                found | {"bodyUncompressed": frame.content(at, _make_decompressor(flag))}
                if flag & COMPRESSED
                else found
            )
        if kind in _READ:
            return {"body": {"messages": frame.content(at, _READ[kind])}}
        if kind == "json" and context.code in _OFTEN and (body := frame.json_rest(at, SECRETS)) is not None:
            return {"body": body}
        if frame.end - at > LARGE:
            raise Unfit
        body = decode_values(frame.data[frame.begin : frame.end], context)
        if body.findings:
            raise Unfit
        return {name: value for name, value in body.values.items() if name not in (*KEYS, HEADER.name)}


@cache
def _make_decompressor(flag: int) -> Read:
    """What decompresses bodies as a sysFlag says."""
    return lambda content, budget: decompress_body(flag, content, budget, 0)


_READ: Mapping[str | None, Read] = {
    "messages": lambda content, budget: MESSAGES.decode(content, 0, budget),
    "batch": lambda content, budget: BATCH.decode(content, 0, budget),
}

make_template = partial(build_template, lambda frame, context: _FrameReader(frame, context).read_frame())
"""See Dissector.template."""
