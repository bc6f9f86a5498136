"""The scanner of filters: words, symbols, numbers, literals, and errors with their position.

Theory. The meaning of a character depends on where it is: a bare word after an operator may contain signs that are
symbols elsewhere. So the text is not split into tokens in advance. The parser (parse.py) asks for each token that may
come next, and the scanner takes it, with the space after it, or does not.
"""

from __future__ import annotations

import re

from analyzer.query.filter.nodes import FilterError, Literal, Span
from analyzer.query.units import UNITS

_SPACE = re.compile(r"\s*")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_@#-]*(?:\.[A-Za-z0-9_@#$%-]+)*")
_BARE = re.compile(r"(?:(?!\.\.)[^\s(){},\"'=!<>&|])+")
_QUOTED = re.compile(r"""(r?)(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""", re.DOTALL)
_QUOTE = re.compile(r"\\([\\\"'])")
"""Escapes in a quoted pattern: the quotes and the backslash itself; other backslashes belong to the pattern."""

_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CURLY = tuple("\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb")
_NUMBER = re.compile(r"-?[0-9]+")
_NEXT = re.compile(r"\w+|.", re.DOTALL)
"""The part of the remaining text that an error shows: a word, or a character."""

_SHORT = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "0": 0}


class FilterScanner:
    """Takes tokens from a filter. It keeps where the next token begins, and where the last one ended."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._stop = 0

    def _skip(self) -> None:
        if not self._text[self._at - 1 : self._at].isspace():
            self._stop = self._at
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _take_word(self) -> str | None:
        match = WORD.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        self._skip()
        return match[0]

    def _take_symbol(self, symbol: str) -> bool:
        if not self._text.startswith(symbol, self._at):
            return False
        self._at += len(symbol)
        self._skip()
        return True

    def _take_one_of(self, *words: str) -> str | None:
        """Takes a word or a symbol if one of these is next."""
        for word in words:
            if not self._text.startswith(word, self._at):
                continue
            stop = self._at + len(word)
            if word[0].isalpha():
                field = FIELD.match(self._text, self._at)
                if field is None or field[0] != word or (word in ("any", "all") and self._text[stop : stop + 1] == "("):
                    continue
            self._at = stop
            self._skip()
            return word
        return None

    def _expect(self, symbol: str, what: str) -> None:
        if not self._take_symbol(symbol):
            raise self._make_error(f"expected {what}, found {self._describe_next()}")

    def _take_integer(self) -> int:
        match = _NUMBER.match(self._text, self._at)
        if match is None or len(match[0]) > 18:
            raise self._make_error("expected a number, as in [0:4], [2], [1-3], [:4] or [4:]")
        self._at = match.end()
        self._skip()
        return int(match[0])

    def _take_literal(self) -> Literal:
        begin = self._at
        quoted = _QUOTED.match(self._text, begin)
        if quoted is not None:
            self._at = quoted.end()
            self._skip()
            raw = quoted[2] if quoted[2] is not None else quoted[3]
            plain = raw if quoted[1] else None
            text = _unescape(raw) if plain is None else plain
            data = _unescape_bytes(raw) if plain is None else plain.encode("utf-8", "surrogatepass")
            pattern = raw if quoted[1] else _QUOTE.sub(r"\1", raw)
            return Literal(text, data, pattern, True, Span(begin, quoted.end()))
        if self._text[begin : begin + 1] in _CURLY:
            raise self._make_error("this is a quotation mark of word processors: write \" or '")
        bare = _BARE.match(self._text, begin)
        if bare is None:
            open_quote = self._text[begin : begin + 1] in ('"', "'")
            raise self._make_error(
                "the closing quote is missing" if open_quote else f"expected a value, found {self._describe_next()}"
            )
        self._at = bare.end()
        text = bare[0]
        self._skip()
        if text[-1].isdigit() and (unit := WORD.match(self._text, self._at)) is not None and unit[0] in UNITS:
            text, self._at = text + unit[0], unit.end()
            self._skip()
        return Literal(text, text.encode("utf-8", "surrogatepass"), text, False, Span(begin, self._stop))

    def _describe_next(self) -> str:
        """Returns what is at this position, for an error."""
        if self._at >= len(self._text):
            return "the end"
        match = _NEXT.match(self._text, self._at)
        assert match is not None
        return match[0]

    def _make_error(self, why: str, at: int | None = None) -> FilterError:
        begin = self._at if at is None else at
        match = _NEXT.match(self._text, begin)
        return FilterError(self._text, Span(begin, begin if match is None else match.end()), why)


def _unescape(raw: str) -> str:
    return _ESCAPE.sub(lambda match: chr(_decode_escape(match[1])) if _is_code(match[1]) else match[1], raw)


def _unescape_bytes(raw: str) -> bytes:
    """Returns the same as bytes: an escape is one byte, everything else is UTF-8."""
    parts: list[bytes] = []
    last = 0
    for match in _ESCAPE.finditer(raw):
        parts.append(raw[last : match.start()].encode("utf-8", "surrogatepass"))
        escape = match[1]
        parts.append(
            bytes([_decode_escape(escape) & 0xFF]) if _is_code(escape) else escape.encode("utf-8", "surrogatepass")
        )
        last = match.end()
    return b"".join([*parts, raw[last:].encode("utf-8", "surrogatepass")])


def _is_code(escape: str) -> bool:
    return escape in _SHORT or escape[0] in "01234567" or len(escape) > 1


def _decode_escape(escape: str) -> int:
    if escape in _SHORT:
        return _SHORT[escape]
    return int(escape[1:], 16) if escape[0] == "x" else int(escape, 8)
