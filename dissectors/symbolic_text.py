"""SymbolicValues without a size in front: texts that end at a quote or a separator, and numbers in digits.

Theory. In text formats, the following characters tell where a value ends. A *run* is printable ASCII without quotes and
backslashes. JSON writes it unchanged, so a string that consists of one run ends with the run; control characters
separate runs. A *decimal* is an integer as programs write it, so it equals its text: an optional minus, no leading
zero, and few enough digits that a sum of several fits in 64 bits. analyzer.decode.templates finds both in columns. A
message whose values are longer or written otherwise does not match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import DECIMAL, RUN, Extent, Integer, NonEmpty, Recorder, Term, Text, plain

RUNNING = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')
"""The bytes of a run."""

DIGITS = 17

_DECIMAL = re.compile(rb"0|-?[1-9][0-9]{,%d}" % (DIGITS - 1))


def is_run(data: bytes, begin: int, end: int) -> bool:
    """Returns whether these bytes are a whole run."""
    return begin < end < len(data) and data[end] not in RUNNING and RUNNING.issuperset(data[begin:end])


def is_decimal(data: bytes, begin: int, end: int) -> bool:
    """Returns whether these bytes are a decimal number without a sign or a leading zero."""
    return _DECIMAL.fullmatch(data, begin, end) is not None


def run(builder: TemplateBuilder, begin: int, end: int) -> Text:
    """Returns a symbolic value for a run of text. Raises NotTemplatable if it is empty."""
    if not is_run(builder.data, begin, end):
        raise NotTemplatable
    term = Term(begin, end - begin, RUN)
    builder.leave_open(begin, end)
    builder.flowing.append(term)
    return Text(builder, Extent(term, 0, begin, end), Integer(builder, (term,), 0, end - begin))


def number(builder: TemplateBuilder, begin: int, end: int) -> Integer:
    """Returns a symbolic value for a decimal number in text. Raises NotTemplatable if it is none."""
    if not is_decimal(builder.data, begin, end) or builder.data[end : end + 1].isdigit():
        raise NotTemplatable
    builder.leave_open(begin, end)
    builder.flowing.append(Term(begin, end - begin, DECIMAL))
    return number_within(builder, begin, end)


def number_within(builder: TemplateBuilder, begin: int, end: int) -> Integer:
    """Returns the decimal that a text is which has been left open. Raises NotTemplatable where it is none."""
    if not is_decimal(builder.data, begin, end):
        raise NotTemplatable
    term = Term(begin, end - begin, DECIMAL)
    builder.decimals.append(term)
    return Integer(builder, (term,), 0, int(builder.data[begin:end]))


class PiecewiseText(NonEmpty):
    """A text of several, runs among them. It can be split, as a text can, where no run can be."""

    __slots__ = ("pieces",)
    claims = str

    def __init__(self, builder: Recorder, pieces: Sequence[str | Text]) -> None:
        self.builder, self.pieces = builder, pieces

    def specialise(self) -> str:
        """Returns the text itself; from now on the bytes of all its pieces belong to the template."""
        return "".join([plain(piece) for piece in self.pieces])

    def __str__(self) -> str:
        return "".join([str(piece) for piece in self.pieces])

    def split(self, separator: str) -> list[Any]:
        """Splits the symbolic text at a separator, as str.split does."""
        if _may_run(separator):
            return self.specialise().split(separator)
        found: list[list[str | Text]] = [[]]
        for piece in self.pieces:
            first, *rest = [piece] if type(piece) is Text else piece.split(separator)
            found[-1].append(first)
            found += [[each] for each in rest]
        return [join_pieces(self.builder, part) for part in found]

    def partition(self, separator: str) -> tuple[Any, str, Any]:
        """Splits the symbolic text at the first separator, as str.partition does."""
        if _may_run(separator):
            return self.specialise().partition(separator)
        for place, piece in enumerate(self.pieces):
            if type(piece) is not Text and separator in piece:
                before, _, behind = piece.partition(separator)
                head, tail = [*self.pieces[:place], before], [behind, *self.pieces[place + 1 :]]
                return join_pieces(self.builder, head), separator, join_pieces(self.builder, tail)
        return self, "", ""

    def __len__(self) -> int:
        return len(self.specialise())


def join_pieces(builder: Recorder, pieces: Sequence[str | Text]) -> PiecewiseText | Text | str:
    """Joins pieces to a text of the simplest type that fits."""
    left: list[str | Text] = []
    for piece in pieces:
        last = left[-1] if left else None
        if type(piece) is str and type(last) is str:
            left[-1] = last + piece
        elif type(piece) is Text or piece:
            left.append(piece)
    return PiecewiseText(builder, left) if len(left) > 1 else left[0] if left else ""


def _may_run(separator: str) -> bool:
    """Whether a run may have a part of such a text in it."""
    return not separator or not RUNNING.isdisjoint(map(ord, separator))
