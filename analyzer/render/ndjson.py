"""Rows as JSON, one object a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from analyzer.columns.arrays import Ints
from analyzer.columns.values import Style
from analyzer.decode.rows import BODY_KEYS, Rows, said_error, said_findings
from analyzer.decode.template_decoder import Said
from analyzer.decode.text import one_line, safe_json
from analyzer.render.forms import Frame, Slot
from analyzer.render.jsonable import OPTIONS, JsonWriter, Limits
from dissectors.api import Body, Context, Dissector
from dissectors.holes import Bytes, Hex, Integer, Nested, Text, Written
from dissectors.runs import Pieced
from dissectors.wire.flat import Table


class NdjsonForm:
    """See Form."""

    edition = 0

    def __init__(self, keys: Sequence[str], limits: Limits) -> None:
        # A name stands in an object once.
        self._keys, self._json = list(dict.fromkeys(keys)), JsonWriter(limits)
        self.asks = "info" in self._keys
        self._marking = MarkingWriter(limits)
        self._style = Style("json", b"null", self._json.dumps, b'"')

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def plain(self, reader: Rows, rows: Ints) -> Iterator[bytes]:
        """See Form."""
        return map(self._json.line, reader.objects(self._keys, rows))

    def frame(self, reader: Rows, rows: Ints) -> Frame:
        """See Form."""
        self._marking.nested.forget()
        parts: list[Any] = []
        for key in self._keys:
            parts.append(f'{"," if parts else "{"}"{key}":'.encode())
            parts.append(Slot(key) if key in BODY_KEYS else reader.column(key, rows).cells(self._style))
        return [*parts, b"}"]

    def said(self, body: Body, dissector: Dissector, context: Context) -> Said:
        """See Form."""
        found: dict[str, Any] = {"error": said_error(body), "findings": said_findings(body), "fields": body.values}
        if "info" in self._keys:
            found["info"] = one_line(dissector.info(body, context))
        return {key: self._marking.dumps(found[key]).decode() for key in self._keys if key in BODY_KEYS}


class MarkingWriter(JsonWriter):
    """Writes marks for holes. `nested` writes what has a value of its own: that of many messages lies together."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.nested = JsonWriter(limits, keeps=True)

    def nested_texts(self, values: Sequence[Any]) -> list[bytes]:
        """The texts of nested values of many messages."""
        return [self._nested_text(value) for value in values]

    def _nested_text(self, value: Any) -> bytes:
        json = self.nested
        if type(value) is Table and (text := json.ready_text(value)) is not None:
            return text
        text = json.table_text(value) if type(value) is Table and not json.is_long(value) else None
        return json.dumps(value) if text is None else safe_json(text)

    def dumps(self, value: Any) -> bytes:
        """One value, without a line break; not made safe for terminals, for marks are not."""
        out = orjson.dumps(value, self._plain, OPTIONS)
        if len(out) > self._suspicious and self._has_long_list(value):
            raise TypeError("a list is too long")
        return out[:-1]

    def _plain(self, value: Any) -> Any:
        kind = type(value)
        if kind is Integer:
            return orjson.Fragment(str(value))
        if kind is Text or kind is Pieced:
            return str(value)
        if kind is Nested:
            return orjson.Fragment(value.shape.mark(Written(value, self.nested_texts)))
        if kind is Bytes:
            shown = value.shape.mark(Hex(value, self.limits.bytes_limit))
            return orjson.Fragment(f'{{"hex":"{shown}","length":{value.size}}}')
        return super()._plain(value)
