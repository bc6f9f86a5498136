"""RocketMQ's frames with holes: which of them are alike.

Theory. The names in a header, and their order, belong to the shape, as do code, flag, language and version; opaque and
the values of extFields may differ, and take more or less room: in a JSON header they end at a quote, in a binary one
sizes stand in front. Where the header class says that such a text is a number, it stays one. A message's properties are
a text of several, whose names belong to the shape. Bodies of applications may be any bytes; JSON has holes of its own;
stored messages are a value of their own within the frame; of all others the bytes are part of the shape.

Secrets, numbers written otherwise, and whatever there is a finding about stand for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from dissectors.api import Body, Context, Role
from dissectors.holes import Extent, ReadMany, Shape, Shapeless, Stencil, Term, Text, plain
from dissectors.rocketmq.body import as_sent, body_kind
from dissectors.rocketmq.codes import language
from dissectors.rocketmq.command import BINARY, EXT, FIXED, HEAD, JSON, MARK, SERIALIZE, Command
from dissectors.rocketmq.command_fields import HEADER, HeaderClass
from dissectors.rocketmq.extfields import HeaderField, header_class
from dissectors.rocketmq.labels import COMPRESSED
from dissectors.rocketmq.message import KEYS, assembled, decode
from dissectors.rocketmq.secrets import SECRETS
from dissectors.rocketmq.stored import BATCH, MESSAGES, NAME_VALUE, inflated
from dissectors.runs import RUNNING, is_decimal, is_run, number_within, pieced, run
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES
from dissectors.wire.json_stencil import JsonStenciler
from dissectors.wire.secret import Veiled

LARGE = 4096
"""Bytes of a body that is part of the shape."""

MOST = 4 << 20
"""Bytes that a body may be decompressed to before its message is decoded for itself, with its own bound."""

_OFTEN = frozenset((34, 38, 322))
"""HEART_BEAT, GET_CONSUMER_LIST_BY_GROUP, QUERY_DATA_VERSION: what is asked every few seconds.

Other bodies of JSON are rare, or the same again and again, and of a part of the shape every question may be asked.
"""

_SIZE, _KEY = 4, 2
_MARK_AT, _OPAQUE_AT = 4, 5
_ANY = 0
"""The opaque number, which is the row's."""

_MEMBERS = frozenset(("code", "flag", "language", "opaque", "version"))
"""What a JSON header always has."""

_PIECE = re.compile(rb"[\x00-\x1f]|[^\x00-\x1f]+")
_NAME_ENDS = NAME_VALUE.encode()
_BOUNDS = {"int": (-(1 << 31), (1 << 31) - 1), "long": (-(1 << 63), (1 << 63) - 1)}


def stencil(message: bytes, context: Context, request: tuple[bytes, Context] | None) -> Stencil | None:
    """What decode() gives, with holes; None for a message that stands for itself."""
    shape = Shape(message if request is None else message + request[0])
    try:
        body = _Frame(shape, 0, len(message), context).body()
        asked = None if request is None else _Frame(shape, len(message), len(shape.data), request[1]).body().values
    except (Shapeless, *FAILURES):
        return None
    return None if body.findings else Stencil(shape, body._replace(request=asked))


class _Frame:
    """Reads the frame between two places of a shape. Raises Shapeless or one of FAILURES."""

    def __init__(self, shape: Shape, begin: int, end: int, context: Context) -> None:
        self._shape, self._begin, self._end, self._context = shape, begin, end, context
        self._fields: HeaderClass = header_class(context.code, context.role is Role.RESPONSE) or {}
        self._header: dict[str, Any] = {}
        self._secrets: dict[str, Veiled] = {}

    def body(self) -> Body:
        """All of it."""
        shape, begin = self._shape, self._begin
        total, mark = MARK.unpack_from(shape.data, begin)
        kind, at = mark >> 24, begin + HEAD
        stop = at + (mark & 0xFF_FFFF)
        if begin + _SIZE + total != self._end or stop > self._end:
            raise Shapeless
        shape.encloses(Term(begin, _SIZE, "I"), 0, begin + _SIZE, self._end)
        shape.encloses(Term(begin + _MARK_AT, _SIZE, "I"), kind << 24, at, stop)
        if kind not in (JSON, BINARY):
            raise Shapeless
        command = (self._json if kind == JSON else self._binary)(at, stop)
        header = self._header
        if "sysFlag" in header:  # decides how the body is to be read
            header["sysFlag"] = plain(header["sysFlag"])
        has_class = header_class(self._context.code, self._context.role is Role.RESPONSE) is not None
        found = assembled(command, header if has_class else None, self._body(stop), self._context)
        found.values[EXT].update(self._secrets)
        return found

    # ---- the header

    def _json(self, at: int, stop: int) -> Command:
        shape = self._shape
        reader = JsonStenciler(shape, stop, names_end=NAME_VALUE)
        found: dict[str, Any] = {}

        def member(name: str, begin: int) -> int:
            if name == EXT and shape.data[begin : begin + 1] == b"{":
                found[EXT] = {}
                return reader.members(begin, pair)
            found[name], end = reader.value(begin)
            return end

        def pair(name: str, begin: int) -> int:
            text, end = reader.text(begin)
            found[EXT][name] = self._meant(name, text, begin + 1, end - 1)
            return end

        if reader.members(at, member) != stop or not found.keys() >= _MEMBERS:
            raise Shapeless
        opaque, remark, ext = found["opaque"], found.get("remark"), found.get(EXT)
        code, version, flag = (plain(found[name]) for name in ("code", "version", "flag"))
        name = plain(found["language"])
        if not type(code) is type(version) is type(flag) is int or type(name) is not str:
            raise Shapeless
        low, high = _BOUNDS["int"]
        if (
            not isinstance(opaque, int)
            or not low <= opaque <= high
            or not (remark is None or isinstance(remark, str))
            or isinstance(ext, list)
        ):
            raise Shapeless
        return Command(code, name, version, _ANY, flag, remark, ext or {}, SERIALIZE[JSON], stop)

    def _binary(self, at: int, stop: int) -> Command:
        shape = self._shape
        code, number, version, opaque, flag, size = FIXED.unpack_from(shape.data, at)
        shape.free(at + _OPAQUE_AT, at + _OPAQUE_AT + _SIZE)
        at += FIXED.size
        if size < 0:
            raise Shapeless
        remark = self._text(Extent(Term(at - _SIZE, _SIZE, "i"), 0, at, at + size)) or None
        at += size + _SIZE
        if at + int.from_bytes(shape.data[at - _SIZE : at], signed=True) != stop:
            raise Shapeless
        shape.encloses(Term(at - _SIZE, _SIZE, "i"), 0, at, stop)
        ext: dict[str, Any] = {}
        while at < stop:
            value_at = at + _KEY + int.from_bytes(shape.data[at : at + _KEY]) + _SIZE
            name = shape.data[at + _KEY : value_at - _SIZE].decode()
            at = value_at + int.from_bytes(shape.data[value_at - _SIZE : value_at], signed=True)
            if not value_at <= at <= stop or name in ext:
                raise Shapeless
            text = self._text(Extent(Term(value_at - _SIZE, _SIZE, "i"), 0, value_at, at), name in SECRETS)
            ext[name] = self._meant(name, text, value_at, at)
        return Command(code, language(number), version, opaque, flag, remark, ext, SERIALIZE[BINARY], stop)

    def _text(self, extent: Extent, as_run: bool = False) -> Any:
        """A text behind its size; one of several, and one that is not plain, has runs or belongs to the shape."""
        shape, (_, _, begin, end, _) = self._shape, extent
        if begin == end:
            return ""
        content = shape.data[begin:end]
        if RUNNING.issuperset(content) and not as_run:
            return shape.text(extent)
        shape.encloses(*extent)
        content.decode()
        return pieced(shape, list(self._pieces(begin, end)))

    def _pieces(self, begin: int, end: int) -> Iterator[str | Text]:
        data = self._shape.data
        for found in _PIECE.finditer(data, begin, end):
            is_name = data[found.end() : found.end() + 1] == _NAME_ENDS and found.end() < end
            if is_run(data, *found.span()) and not is_name:
                yield run(self._shape, *found.span())
            else:
                yield found[0].decode()

    def _meant(self, wire: str, text: Any, begin: int, end: int) -> Any:
        """A value of extFields between two places, of which the header class makes its own; of a secret its length."""
        field = self._fields.get(wire)
        if wire in SECRETS:
            if type(text) is not Text or text.size != end - begin:
                raise Shapeless
            self._secrets[wire] = veiled = Veiled.of(end - begin)
            if field is not None:
                self._header[field.name] = veiled
            return ""
        if field is not None:
            self._header[field.name] = text if field.convert is None else self._converted(field, text, begin, end)
        return text

    def _converted(self, field: HeaderField, text: Any, begin: int, end: int) -> object:
        assert field.convert is not None
        bounds = _BOUNDS.get(field.spec.type)
        if bounds is None or type(text) is not Text or not is_decimal(self._shape.data, begin, end):
            return field.convert(plain(text))
        number = number_within(self._shape, begin, end)
        if not bounds[0] <= number <= bounds[1]:
            raise Shapeless
        return number

    # ---- the body

    def _body(self, at: int) -> dict[str, Any]:
        """`body`, and what stands beside it."""
        if at == self._end:
            return {"body": None}
        shape, context = self._shape, self._context
        kind = as_sent(body_kind(context.code, context.role is Role.RESPONSE), self._header, shape.data[at : self._end])
        if kind == "payload":
            return self._payload(self._rest(at), self._header.get("sysFlag", 0))
        if kind in _READ:
            (value,) = _READ[kind]([shape.data[at : self._end]], [()])
            if value is None:
                raise Shapeless
            return {"body": {"messages": shape.nested(self._rest(at), _READ[kind], value)}}
        if kind == "json" and context.code in _OFTEN and self._json_body(Shape(shape.data), at) is not None:
            return {"body": self._json_body(shape, at)}
        if self._end - at > LARGE:
            raise Shapeless
        body = decode(shape.data[self._begin : self._end], context)
        if body.findings:
            raise Shapeless
        return {name: value for name, value in body.values.items() if name not in (*KEYS, HEADER.name)}

    def _payload(self, extent: Extent, flag: int) -> dict[str, Any]:
        found: dict[str, Any] = {"body": self._shape.bytes(extent)}
        if flag & COMPRESSED:
            read = _inflating(flag)
            (content,) = read([self._shape.data[extent.begin : extent.end]], [()])
            if content is None:
                raise Shapeless
            found["bodyUncompressed"] = self._shape.nested(extent, read, content)
        return found

    def _json_body(self, shape: Shape, at: int) -> Any:
        """An object or a list with holes; None for what is left to the other readers."""
        try:
            value, stop = JsonStenciler(shape, self._end, SECRETS).value(at)
        except (Shapeless, *FAILURES):
            return None
        return value if stop == self._end and isinstance(value, dict | list) else None

    def _rest(self, at: int) -> Extent:
        """What is left from the end of the header on."""
        frame, mark = (Term(self._begin + each, _SIZE, "I") for each in (0, _MARK_AT))
        total, size = MARK.unpack_from(self._shape.data, self._begin)
        return Extent(frame, total - size - (self._end - at), at, self._end, (mark,))


@cache
def _reader(read: Callable[[bytes, Budget], Any]) -> ReadMany:
    """What reads many bodies."""

    def read_many(contents: Sequence[bytes], asked: Sequence[tuple[int, ...]]) -> list[Any]:
        budget = Budget()
        return [_opened(read, content, budget) for content in contents]

    return read_many


def _opened(read: Callable[[bytes, Budget], Any], content: bytes, shared: Budget) -> Any:
    """A body; None for a broken one, or where all take too much."""
    budget = Budget(min(MOST, shared.left))
    before = budget.left
    try:
        return read(content, budget)
    except FAILURES:
        return None
    finally:
        shared.left -= before - budget.left


@cache
def _inflating(flag: int) -> ReadMany:
    """What decompresses bodies as a sysFlag says."""
    return _reader(lambda content, budget: inflated(flag, content, budget, 0))


_READ = {
    "messages": _reader(lambda content, budget: MESSAGES.decode(content, 0, budget)),
    "batch": _reader(lambda content, budget: BATCH.decode(content, 0, budget)),
}
