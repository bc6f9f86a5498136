r"""Formats rows as csv and tsv: a header line, null as empty cell, an error by its name, findings by their codes.

tsv escapes tab, line breaks and backslash as \\t, \\n, \\r, \\\\; csv quotes according to RFC 4180, after the same
escapes, so that a row is always one line. Other control characters of the capture go through safe_text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.columns.values import CellStyle
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.rows import BODY_KEYS, RowReader
from analyzer.decode.template_decoder import BodyTexts
from analyzer.render.forms import LineFrame
from dissectors.api import Body, Context, Dissector

DELIMITERS = {"csv": ",", "tsv": "\t"}

_QUOTED = frozenset(',"')
_PLAIN = bytes(set(range(0x20, 0x7F)) - {ord("\\")})


class DelimitedForm:
    """Formats rows as csv or tsv. `keys` are the titles of the columns, `names` the keys of a row."""

    edition = 0
    needs_requests = False

    def __init__(self, keys: Sequence[str], names: Sequence[str], delimiter: str, limits: Limits) -> None:
        self._keys, self._names, self._delimiter, self._json = keys, names, delimiter, JsonWriter(limits)
        self._style = CellStyle(delimiter, b"", lambda text: _escape(text, delimiter).encode())

    def format_head(self) -> bytes:
        """Returns the names of the columns."""
        return format_header(self._keys, self._delimiter)

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        """Yields the lines of rows, all in one piece."""
        yield format_delimited(reader.read_columns(self._names, rows), self._delimiter, self._json)

    def make_frame(self, reader: RowReader, rows: Ints) -> LineFrame | None:
        """Returns the cells and separators of the lines; None if a column needs the body."""
        if not BODY_KEYS.isdisjoint(self._names):
            return None
        parts: list[Any] = []
        for name in self._names:
            parts += [self._delimiter.encode(), reader.read_column(name, rows).cells(self._style)]
        return parts[1:]

    def format_slots(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        """Returns no texts, because lines of this form have no slots."""
        return {}


def format_header(keys: Sequence[str], delimiter: str) -> bytes:
    """Formats the line with the names of the columns."""
    return (delimiter.join(keys) + "\n").encode()


def format_delimited(columns: list[list[Any]], delimiter: str, json: JsonWriter) -> bytes:
    """Returns rows, given as columns of equal length, as lines."""
    texts = [_format_column(column, delimiter, json) for column in columns]
    if len(texts) == 1:
        return ("\n".join(texts[0]) + "\n").encode() if texts[0] else b""
    lines = "\n".join(map(delimiter.join, zip(*texts, strict=True)))
    return (lines + "\n").encode() if lines else b""


def _format_column(column: list[Any], delimiter: str, json: JsonWriter) -> list[str]:
    """Formats a column of one kind at C speed, any other column cell by cell."""
    kinds = set(map(type, column))
    if kinds <= {int, type(None)}:
        return _format_integers(column)
    if kinds == {str} and _is_harmless("".join(column), delimiter):
        return column
    if kinds <= {str, bool, type(None)}:
        cells = {value: _format_cell(value, delimiter, json) for value in set(column)}
        return [cells[value] for value in column]
    return [_format_cell(value, delimiter, json) for value in column]


def _format_integers(column: list[int | None]) -> list[str]:
    """Formats integers, null as empty text. It splits one JSON list at its commas, which is three times as fast."""
    if not column:
        return []
    try:
        return orjson.dumps(column)[1:-1].decode().replace("null", "").split(",")
    except TypeError:  # beyond 64 bits
        return ["" if value is None else str(value) for value in column]


def _is_harmless(text: str, delimiter: str) -> bool:
    """Returns whether _escape() would leave a text unchanged."""
    plain = text.isascii() and not text.encode().translate(None, _PLAIN)
    return plain and (delimiter != "," or _QUOTED.isdisjoint(text))


def _format_cell(value: Any, delimiter: str, json: JsonWriter) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _escape(value, delimiter)
    if isinstance(value, dict) and value.keys() == {"code", "name"}:
        return str(value["name"] or value["code"])
    if isinstance(value, list) and all(isinstance(item, dict) and "severity" in item for item in value):
        return _escape(",".join(item["code"] for item in value), delimiter)
    return _escape(json.dumps(value).decode(), delimiter)


def _escape(text: str, delimiter: str) -> str:
    """Returns any text as one line."""
    if not (text.isascii() and text.isprintable()) or "\\" in text:
        escaped = text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
        text = "\\".join(safe_text(part) for part in escaped.split("\\"))
    if delimiter == "," and not _QUOTED.isdisjoint(text):
        return '"' + text.replace('"', '""') + '"'
    return text
