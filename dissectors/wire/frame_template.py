"""Symbolic values (dissectors.symbolic) of frames that a protocol reads by hand, with sizes of four bytes.

Theory. What stands where is the protocol's; a Frame leaves values open: texts behind their sizes, numbers in digits,
JSON, and a rest whose size is what a first number says less what a second one does. A rest may hold a value that all of
its bytes make, because it is compressed or a list of messages; that one is each message's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, TypeAlias

from dissectors.api import Body, Context
from dissectors.symbolic import Extent, MessageTemplate, NotTemplatable, ReadMany, TemplateBuilder, Term, Text, plain
from dissectors.symbolic_text import RUNNING, is_decimal, is_run, join_pieces, number_within, run
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES
from dissectors.wire.json_template import JsonTemplater

MOST = 4 << 20
"""Bytes that a content may be decompressed to before its message is decoded for itself, with its own bound."""

_SIZE = 4
_PIECE = re.compile(rb"[\x00-\x1f]|[^\x00-\x1f]+")

Read: TypeAlias = Callable[[bytes, Budget], Any]
"""The value of a content. Raises one of emit.FAILURES."""


def build_template(
    read: Callable[[SymbolicFrame, Context], Body],
    message: bytes,
    context: Context,
    request: tuple[bytes, Context] | None,
) -> MessageTemplate | None:
    """Builds the template of a frame (Dissector.template); None if the message fits no template."""
    builder = TemplateBuilder(message if request is None else message + request[0])
    try:
        body = read(SymbolicFrame(builder, 0, len(message)), context)
        request_values = (
            None
            if request is None
            else read(SymbolicFrame(builder, len(message), len(builder.data)), request[1]).values
        )
    except (NotTemplatable, *FAILURES):
        return None
    return None if body.findings else MessageTemplate(builder, body._replace(request=request_values))


class SymbolicFrame:
    """The bytes from `begin` to `end` of `data`. Its methods raise NotTemplatable."""

    __slots__ = ("_builder", "begin", "data", "end")

    def __init__(self, builder: TemplateBuilder, begin: int, end: int) -> None:
        self._builder, self.data, self.begin, self.end = builder, builder.data, begin, end

    def specialise(self, value: Any) -> Any:
        """Returns the value itself, which is the same in all such frames."""
        return plain(value)

    def leave_open(self, at: int) -> None:
        """Four bytes may be any."""
        self._builder.leave_open(at, at + _SIZE)

    def size(self, at: int, begin: int, end: int, bias: int = 0, code: str = "I") -> None:
        """Declares that the number at a place, less `bias`, counts the bytes from `begin` to `end`."""
        self._builder.encloses(Term(at, _SIZE, code), bias, begin, end)

    def text(self, begin: int, end: int, name_ends: str, *, as_run: bool = False) -> Any:
        """Returns a text behind its size; one that is not plain has runs or is the same in all.

        name_ends: what ends a name within it, which is the same.
        """
        if begin == end:
            return ""
        extent, content = Extent(Term(begin - _SIZE, _SIZE, "i"), 0, begin, end), self.data[begin:end]
        if RUNNING.issuperset(content) and not as_run:
            return self._builder.text(extent)
        self._builder.encloses(*extent)
        content.decode()
        return join_pieces(self._builder, list(self._pieces(begin, end, name_ends.encode())))

    def _pieces(self, begin: int, end: int, name_ends: bytes) -> Iterator[str | Text]:
        for found in _PIECE.finditer(self.data, begin, end):
            is_name = self.data[found.end() : found.end() + 1] == name_ends and found.end() < end
            is_open = is_run(self.data, *found.span()) and not is_name
            yield run(self._builder, *found.span()) if is_open else found[0].decode()

    def length(self, text: Any, begin: int, end: int) -> int:
        """Returns the length of a text between two places, as a symbolic value."""
        if type(text) is not Text or text.size != end - begin:
            raise NotTemplatable
        return end - begin

    def number(self, text: Any, begin: int, end: int, bounds: tuple[int, int]) -> Any:
        """The number that a text between two places is, in all such frames within bounds; None for another text."""
        if type(text) is not Text or not is_decimal(self.data, begin, end):
            return None
        number = number_within(self._builder, begin, end)
        if not bounds[0] <= number <= bounds[1]:
            raise NotTemplatable
        return number

    def json(self, stop: int, secrets: Set[str] = frozenset(), names_end: str = "") -> JsonTemplater:
        """Returns a symbolic reader of JSON up to a place."""
        return JsonTemplater(self._builder, stop, secrets, names_end)

    def json_rest(self, at: int, secrets: Set[str]) -> Any:
        """Returns the object or list from a place to the end; None if it must be the same in all frames."""
        for builder in (TemplateBuilder(self.data), self._builder):  # whoever fails has left nothing open
            try:
                value, stop = JsonTemplater(builder, self.end, secrets).value(at)
            except (NotTemplatable, *FAILURES):
                return None
            if stop != self.end or not isinstance(value, dict | list):
                return None
        return value

    def rest(self, at: int) -> Any:
        """Returns the bytes from a place to the end.

        The frame's first number counts what is behind it, the low 24 bits of its second one what is before `at` behind
        that.
        """
        return self._builder.bytes(self._rest(at))

    def content(self, at: int, read: Read) -> Any:
        """Returns what `read` decodes from these bytes, as a symbolic value."""
        many = _reader(read)
        (value,) = many([self.data[at : self.end]], [()])
        if value is None:
            raise NotTemplatable
        return self._builder.add_nested(self._rest(at), many, value)

    def _rest(self, at: int) -> Extent:
        total, before = (Term(self.begin + each, _SIZE, "I") for each in (0, _SIZE))
        size = int.from_bytes(self.data[self.begin : self.begin + _SIZE])
        size -= int.from_bytes(self.data[self.begin + _SIZE : self.begin + 2 * _SIZE])
        return Extent(total, size - (self.end - at), at, self.end, (before,))


@lru_cache(maxsize=64)
def _reader(read: Read) -> ReadMany:
    """What reads many contents, under one bound."""

    def read_many(contents: Sequence[bytes], numbers: Sequence[tuple[int, ...]]) -> list[Any]:
        budget = Budget()
        return [_open_content(read, content, budget) for content in contents]

    return read_many


def _open_content(read: Read, content: bytes, shared: Budget) -> Any:
    """A content; None for a broken one, or where all take too much."""
    budget = Budget(min(MOST, shared.left))
    before = budget.left
    try:
        return read(content, budget)
    except FAILURES:
        return None
    finally:
        shared.left -= before - budget.left
