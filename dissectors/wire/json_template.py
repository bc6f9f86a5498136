"""JSON with symbolic values: the third reader of its bytes, beside the standard library's parser and json_text.py.

Theory. Punctuation, names, true, false, null and numbers other than plain integers must be equal in all messages. Texts
and integers may differ in value and length (dissectors.symbolic_text). A text with escapes consists of several runs.
Messages that only json_text.py accepts, that repeat a name or that nest deeply match no template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Set
from typing import Any

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_text import is_decimal, is_run, join_pieces, number, run
from dissectors.symbolic_values import Text
from dissectors.wire.nonfinite import float_value

DEPTH = 12
MOST = 400
"""Values beyond which nothing is like it."""

_TEXT = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_PIECE = re.compile(rb'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|[^\\]+')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SPACE = re.compile(rb"[ \t\r\n]*+")
_WORDS = {b"true": True, b"false": False, b"null": None}
_WORD = re.compile(rb"true|false|null")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STANDARD = json.JSONDecoder(strict=False)


class JsonTemplater:
    """Reads values out of `builder`, up to `end`. Raises NotTemplatable.

    secrets: names of values that must be equal in all messages. names_end: the character that ends names in a text with
    escapes; these names must be equal, too.
    """

    def __init__(
        self, builder: TemplateBuilder, end: int, secrets: Set[str] = frozenset(), names_end: str = ""
    ) -> None:
        self.builder, self._data, self._end = builder, builder.data, end
        self._secrets, self._names_end = secrets, names_end
        self._read = 0

    def value(self, at: int, depth: int = DEPTH) -> tuple[Any, int]:
        """Reads a symbolic value; returns it and its end."""
        self._read += 1
        if not depth or self._read > MOST or at >= self._end:
            raise NotTemplatable
        first = self._data[at : at + 1]
        if first == b'"':
            return self.text(at)
        if first == b"{":
            return self._object(at, depth)
        if first == b"[":
            return self._array(at, depth)
        if found := _NUMBER.match(self._data, at, self._end):
            return self._number(at, found.end()), found.end()
        if found := _WORD.match(self._data, at, self._end):
            return _WORDS[found[0]], found.end()
        raise NotTemplatable

    def members(self, at: int, visit: Callable[[str, int], int]) -> int:
        """Goes through an object: `visit` gets each name and where its value begins, and returns where that ends."""
        names: set[str] = set()
        at = self._past(at, b"{")
        while not self._is(at, b"}"):
            name, stop = self.plain(self._past(at, b",") if names else at)
            if name in names or name in self._secrets:
                raise NotTemplatable
            names.add(name)
            at = self._past(visit(name, self._past(self._past(stop), b":")))
        return at + 1

    def plain(self, at: int) -> tuple[str, int]:
        """Reads a text that must be the same in all messages; returns it and its end."""
        found = _TEXT.match(self._data, at, self._end)
        if found is None:
            raise NotTemplatable
        try:
            return _STANDARD.raw_decode(found[0].decode())[0], found.end()
        except ValueError:
            raise NotTemplatable from None

    def text(self, at: int) -> tuple[Any, int]:
        """Reads a symbolic text; returns it and its end."""
        content, stop = self.plain(at)
        begin, end = at + 1, stop - 1
        if is_run(self._data, begin, end):
            return run(self.builder, begin, end), stop
        if b"\\" not in self._data[begin:end] or _SURROGATE.search(self._data, begin, end):
            return content, stop
        return join_pieces(self.builder, list(self._pieces(begin, end))), stop

    def _pieces(self, begin: int, end: int) -> Iterator[str | Text]:
        found = list(_PIECE.finditer(self._data, begin, end))
        texts = [_STANDARD.raw_decode(f'"{each[0].decode()}"')[0] for each in found]
        for each, text, following in zip(found, texts, [*texts[1:], ""], strict=True):
            is_name = following != "" and following == self._names_end
            yield run(self.builder, *each.span()) if is_run(self._data, *each.span()) and not is_name else text

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}

        def visit(name: str, begin: int) -> int:
            found[name], stop = self.value(begin, depth - 1)
            return stop

        return found, self.members(at, visit)

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self._past(at + 1)
        while not self._is(at, b"]"):
            value, stop = self.value(self._past(at, b",") if found else at, depth - 1)
            found.append(value)
            at = self._past(stop)
        return found, at + 1

    def _number(self, at: int, stop: int) -> Any:
        if is_decimal(self._data, at, stop):
            return number(self.builder, at, stop)
        text = self._data[at:stop].decode()
        return int(text) if text.removeprefix("-").isdigit() else float_value(float(text))

    def _is(self, at: int, token: bytes) -> bool:
        return at < self._end and self._data[at : at + 1] == token

    def _past(self, at: int, token: bytes = b"") -> int:
        """Behind a token, if one is to be there, and the space behind it."""
        if token and not self._is(at, token):
            raise NotTemplatable
        found = _SPACE.match(self._data, at + len(token), self._end)
        return self._end if found is None else found.end()
