"""Fits text into a terminal: cuts without splitting a number, wraps at words, drops the least important columns.

Widths are counted in cells, because a CJK character takes two. Texts are safe for terminals already
(analyzer.columns.text).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analyzer.columns.text import ELLIPSIS
from analyzer.render.lines import Line
from analyzer.render.objects import Out

GAP = 2
"""Spaces between columns."""

_NUMBER = re.compile(r"\d[\w.,:%]*")
_WORDS = re.compile(r"\s*\S+|\s+")
_BEFORE, _BEHIND = 64, 32
"""Number of characters on both sides of a cut that are searched for a number."""


def count_cells(text: str) -> int:
    """Returns how many terminal cells a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # most texts are ASCII

    return cell_len(text)


def cut_end(text: str, width: int) -> str:
    """Cuts a text to `width` cells, with an ellipsis at its end; a number is dropped rather than split."""
    if count_cells(text) <= width:
        return text
    return text[: _find_before_number(text, _count_fitting(text, max(width - 1, 0)))].rstrip() + ELLIPSIS * (width > 0)


def cut_middle(text: str, width: int) -> str:
    """Cuts a text to `width` cells in its middle, because topics and paths often begin alike."""
    if count_cells(text) <= width:
        return text
    back = (width - 1) // 2
    begin = _find_before_number(text, _count_fitting(text, max(width - 1 - back, 0)))
    end = len(text) - _count_fitting(text[::-1], back)
    return text[:begin] + ELLIPSIS + text[_find_behind_number(text, end) :]


def wrap_text(text: str, width: int, first: str = "", indent: str | None = None) -> Iterator[str]:
    """Wraps a text to lines of at most `width` cells, at spaces where possible.

    first: precedes the text; indent: precedes its other lines, by default as many spaces.
    """
    blank = " " * count_cells(first) if indent is None else indent
    for line in wrap_spans(("", first), [("", text)], width, blank):
        yield "".join(part for _, part in line)


def wrap_spans(first: tuple[str, str], spans: Iterable[tuple[str, str]], width: int, indent: str) -> Iterator[Line]:
    """Wraps spans (styles with texts) to lines of at most `width` cells, at spaces where possible.

    first: a span that stays whole before the others; indent: spaces before the further lines.
    """
    line, used = [first] if first[1] else [], count_cells(first[1])
    least = used if used <= len(indent) else 0
    for style, text in spans:
        for word in _WORDS.findall(text):
            if used + count_cells(word) > width and used > least:
                yield tuple(line)
                line, word, used, least = [("", indent)], word.lstrip(), len(indent), len(indent)
            while used + count_cells(word) > width > len(indent) and len(word) > 1:  # longer than a whole line
                fits = max(_count_fitting(word, width - used), 1)
                yield (*line, (style, word[:fits]))
                line, word, used, least = [("", indent)], word[fits:], len(indent), len(indent)
            if word:
                line.append((style, word))
                used += count_cells(word)
    yield tuple(line)


def fit_columns(
    rows: Sequence[Sequence[str]],
    width: int,
    least: Mapping[int, int],
    dropped: Sequence[int],
    lists: frozenset[int],
) -> tuple[list[list[str]], list[int]]:
    """Fits cells into columns of `width` cells together; returns them with the numbers of the remaining columns.

    rows: including the titles. least: columns of names, with their minimum width; they are cut in the middle, those of
    `lists` at the end. dropped: columns in the order in which they are left out, when no name can become narrower.
    """
    widths = [max(map(count_cells, column)) for column in zip(*rows, strict=True)]
    left = list(range(len(widths)))
    for place in dropped:
        if _add_widths([min(widths[each], least.get(each, widths[each])) for each in left]) <= width:
            break
        left.remove(place)
    _narrow_widths(widths, left, width, least)
    cuts = [cut_end if place in lists else cut_middle for place in range(len(widths))]
    return [[cuts[place](row[place], widths[place]) for place in left] for row in rows], left


def align_cells(rows: Iterable[Sequence[str]], left: frozenset[int]) -> Iterator[str]:
    """Yields a line for each row of cells, aligned by column, for any characters."""
    every = list(rows)
    widths = [max(map(count_cells, column)) for column in zip(*every, strict=True)]
    for row in every:
        blanks = [" " * (width - count_cells(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            cell + blank if place in left else blank + cell
            for place, (cell, blank) in enumerate(zip(row, blanks, strict=True))
        ]
        yield (" " * GAP).join(cells).rstrip()


def _narrow_widths(widths: list[int], left: Sequence[int], width: int, least: Mapping[int, int]) -> None:
    """Narrows the widest names until the columns fit."""
    over = _add_widths([widths[each] for each in left]) - width
    while over > 0:
        names = [each for each in left if widths[each] > least.get(each, widths[each])]
        if not names:
            return
        widest = max(names, key=widths.__getitem__)
        others = [widths[each] for each in names if widths[each] < widths[widest]]
        next_to = max([least[widest], *others])
        taken = min(over, max(widths[widest] - next_to, 1))
        widths[widest] -= taken
        over -= taken


def _add_widths(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _count_fitting(text: str, width: int) -> int:
    """Returns how many characters of a text take at most `width` cells."""
    if text.isascii():
        return min(len(text), width)
    from rich.cells import set_cell_size  # most texts are ASCII

    return len(set_cell_size(text, width).rstrip()) if count_cells(text) > width else len(text)


def _find_before_number(text: str, at: int) -> int:
    """Returns a place to cut; in or after a number, the place before it, because a cut number misleads."""
    begin = max(at - _BEFORE, 0)
    for found in _NUMBER.finditer(text, begin, at + _BEHIND):
        if found.start() < at <= found.end():
            return found.start()
    return at


def _find_behind_number(text: str, at: int) -> int:
    """Returns the same, but the place after the number."""
    for found in _NUMBER.finditer(text, max(at - _BEFORE, 0), at + _BEFORE):
        if found.start() <= at < found.end():
            return found.end()
    return at


class LineCutter:
    """Writes whole lines to an output; cuts lines of more than `width` cells and ends them with `mark`.

    Removes spaces at the end of lines. Each write must consist of one or more whole lines.
    """

    def __init__(self, out: Out, width: int, mark: str) -> None:
        self._out, self._width, self._mark = out, width, mark

    def write(self, data: bytes, /) -> None:
        """Cuts and writes some whole lines."""
        self._out.write(b"".join(map(self._cut_line, data.splitlines(keepends=False))))

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Cuts and writes several pieces of whole lines."""
        for piece in lines:
            self.write(piece)

    def _cut_line(self, line: bytes) -> bytes:
        line = line.rstrip(b" ")
        if len(line) > self._width or self._mark != ELLIPSIS:  # no character has more cells than bytes
            line = cut_end(line.decode(), self._width).replace(ELLIPSIS, self._mark).encode()
        return line + b"\n"
