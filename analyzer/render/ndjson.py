"""Rows as JSON, one object a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analyzer.columns.arrays import Ints
from analyzer.columns.text import escape_line_breaks
from analyzer.columns.values import CellStyle
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.limits import Limits
from analyzer.decode.rows import BODY_KEYS, RowReader, make_error, make_findings
from analyzer.decode.template_decoder import BodyTexts
from analyzer.decode.template_json import MarkingWriter
from analyzer.render.forms import BodySlot, LineFrame
from dissectors.api import Body, Context, Dissector


class NdjsonForm:
    """Formats rows as JSON objects, one a line."""

    edition = 0

    def __init__(self, keys: Sequence[str], limits: Limits) -> None:
        # An object has each name once.
        self._keys, self._json = list(dict.fromkeys(keys)), JsonWriter(limits)
        self.needs_requests = "info" in self._keys
        self._marking = MarkingWriter(limits)
        self._style = CellStyle("json", b"null", self._json.dumps, b'"')

    def format_head(self) -> bytes:
        """Returns no bytes, because NDJSON has no head line."""
        return b""

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        """Yields the JSON objects of rows, each with its line break."""
        return map(self._json.format_line, reader.read_objects(self._keys, rows))

    def make_frame(self, reader: RowReader, rows: Ints) -> LineFrame | None:
        """Returns the parts of the JSON objects: constants, index cells, and slots for texts of the body."""
        self._marking.nested.forget()
        parts: list[Any] = []
        for key in self._keys:
            parts.append(f'{"," if parts else "{"}"{key}":'.encode())
            parts.append(BodySlot(key) if key in BODY_KEYS else reader.read_column(key, rows).cells(self._style))
        return [*parts, b"}"]

    def format_slots(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        """Formats the texts of a body's slots as JSON."""
        found: dict[str, Any] = {"error": make_error(body), "findings": make_findings(body), "fields": body.values}
        if "info" in self._keys:
            found["info"] = escape_line_breaks(dissector.info(body, context))
        return {key: self._marking.dumps(found[key]).decode() for key in self._keys if key in BODY_KEYS}


SURE_KEYS = frozenset(("number", "stream", "from_client", "length", "offset", "first_packet", "last_packet"))
"""Keys that are a number or a flag in every row."""


class UniformForm(NdjsonForm):
    """Formats rows as JSON objects whose keys have one type in all lines, for readers that infer types.

    Values that can be null, or have several types, are text: empty for null, JSON for a structure. SURE_KEYS are
    unchanged.
    """

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        """Yields the JSON objects of rows, each with its line break."""
        for found in reader.read_objects(self._keys, rows):
            row = {key: value if key in SURE_KEYS else self._make_text(value) for key, value in found.items()}
            yield self._json.format_line(row)

    def make_frame(self, reader: RowReader, rows: Ints) -> None:
        """Returns None: rows are formatted one by one."""

    def _make_text(self, value: Any) -> str:
        if value is None:
            return ""
        return value if isinstance(value, str) else self._json.dumps(value).decode()
