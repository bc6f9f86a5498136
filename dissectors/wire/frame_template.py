"""Symbolic values (dissectors.symbolic) of frames that a protocol reads by hand (wire.frame).

Theory. These parts may differ between frames: texts behind their sizes, decimal numbers, JSON, and a rest whose size is
the difference of two numbers. A rest may hold a value that depends on all of its bytes, because it is compressed or a
list of messages; such a value belongs to one message only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from typing import Any

from dissectors.api import Body, Context
from dissectors.slotted import make_slotted
from dissectors.symbolic import MessageTemplate, NotTemplatable, TemplateBuilder
from dissectors.symbolic_text import RUNNING, is_decimal, is_run, join_pieces, number_within, run
from dissectors.symbolic_values import Extent, ReadMany, Term, Text, plain
from dissectors.wire.emit import FAILURES
from dissectors.wire.frame import Frame, Read
from dissectors.wire.json_template import JsonTemplater
from dissectors.wire.message_template import build_silent_template, decode_together
from dissectors.wire.secret import Secret, VeiledSecret

_SIZE = 4
_PIECE = re.compile(rb"[\x00-\x1f]|[^\x00-\x1f]+")


@make_slotted
class FrameNames:
    """Names in frames: those of secrets, and what ends a name within a text; such a name is the same in all frames."""

    secrets: Set[str] = frozenset()
    end: str = ""


def build_template(
    read: Callable[[SymbolicFrame, Context], Body],
    names: FrameNames,
    message: bytes,
    context: Context,
    request: tuple[bytes, Context] | None,
) -> MessageTemplate | None:
    """Builds the template of a frame (Dissector.template); None if the message fits no template."""

    def read_message(builder: TemplateBuilder, begin: int, end: int, context: Context) -> Body:
        return read(SymbolicFrame(builder, begin, end, names), context)

    return build_silent_template(read_message, message, context, request)


class SymbolicFrame(Frame):
    """A frame with symbolic values. Its methods raise NotTemplatable, too."""

    __slots__ = ("_builder", "_names")

    def __init__(self, builder: TemplateBuilder, begin: int, end: int, names: FrameNames) -> None:
        super().__init__(builder.data, begin, end)
        self._builder, self._names = builder, names

    def specialise(self, value: Any) -> Any:
        """Returns the value itself, which is the same in all such frames."""
        return plain(value)

    def leave_open(self, at: int) -> None:
        """Four bytes may be any."""
        self._builder.leave_open(at, at + _SIZE)

    def declare_size(self, at: int, begin: int, end: int, bias: int = 0, code: str = "I") -> None:
        """Declares that the number at a place, less `bias`, counts the bytes from `begin` to `end`."""
        self._builder.encloses(Term(at, _SIZE, code), bias, begin, end)

    def text(self, begin: int, end: int, name: str = "") -> Any:
        """Returns a text behind its size; one that is not plain, or a secret, has runs or is the same in all."""
        if begin == end:
            return ""
        extent, content = Extent(Term(begin - _SIZE, _SIZE, "i"), 0, begin, end), self.data[begin:end]
        if RUNNING.issuperset(content) and name not in self._names.secrets:
            return self._builder.text(extent)
        self._builder.encloses(*extent)
        content.decode()
        return join_pieces(self._builder, list(self._pieces(begin, end, self._names.end.encode())))

    def _pieces(self, begin: int, end: int, name_ends: bytes) -> Iterator[str | Text]:
        for found in _PIECE.finditer(self.data, begin, end):
            is_name = self.data[found.end() : found.end() + 1] == name_ends and found.end() < end
            is_open = is_run(self.data, *found.span()) and not is_name
            yield run(self._builder, *found.span()) if is_open else found[0].decode()

    def hide(self, text: Any) -> Secret:
        """Returns a secret that stands for all texts of its length."""
        if type(text) is not Text or text.size != text.extent.end - text.extent.begin:
            raise NotTemplatable
        return VeiledSecret.with_length(text.extent.end - text.extent.begin)

    def convert(self, text: Any, function: Callable[[str], object], bounds: tuple[int, int] | None) -> object:
        """Returns what a function makes of a text that is the same in all; of one in digits the symbolic number."""
        if bounds is None or type(text) is not Text or not is_decimal(self.data, text.extent.begin, text.extent.end):
            return function(plain(text))
        number = number_within(self._builder, text.extent.begin, text.extent.end)
        if not bounds[0] <= number <= bounds[1]:
            raise NotTemplatable
        return number

    def json(self, at: int, stop: int, decode: Callable[[bytes], Any]) -> Any:
        """Returns the JSON object between two places, with symbolic values. Raises NotTemplatable for any other."""
        value, end = JsonTemplater(self._builder, stop, names_end=self._names.end).value(at)
        if end != stop:
            raise NotTemplatable
        return value

    def json_rest(self, at: int) -> Any:
        """Returns the object or list from a place to the end; None if it must be the same in all frames."""
        for builder in (TemplateBuilder(self.data), self._builder):  # whoever fails has left nothing open
            try:
                value, stop = JsonTemplater(builder, self.end, self._names.secrets).value(at)
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
    return decode_together(lambda content, _, budget: read(content, budget))
