"""Writes the values of a template as JSON, with marks for symbolic values, so that one text serves many messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from analyzer.columns.text import escape_json
from analyzer.decode.jsonable import OPTIONS, JsonWriter
from analyzer.decode.limits import Limits
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import Bytes, Hex, Integer, NestedValue, Text, WrittenValue
from dissectors.wire.flat import RowTable


class MarkingWriter(JsonWriter):
    """Writes JSON with a mark for each symbolic value. `nested` writes nested values of many messages at once."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.nested = JsonWriter(limits, keeps=True)

    def format_nested_values(self, values: Sequence[Any]) -> list[bytes]:
        """Returns the texts of nested values of many messages."""
        return [self._format_nested_value(value) for value in values]

    def _format_nested_value(self, value: Any) -> bytes:
        json = self.nested
        if type(value) is RowTable and (text := json.find_ready_text(value)) is not None:
            return text
        text = json.format_table(value) if type(value) is RowTable and not json.is_long(value) else None
        return json.dumps(value) if text is None else escape_json(text)

    def dumps(self, value: Any) -> bytes:
        """Returns one value as JSON without a line break. The text may contain marks, so it is not escaped."""
        out = orjson.dumps(value, self._make_plain, OPTIONS)
        if len(out) > self._suspicious and self._has_long_list(value):
            raise TypeError("a list is too long")
        return out[:-1]

    def _make_plain(self, value: Any) -> Any:
        kind = type(value)
        if kind is Integer:
            return orjson.Fragment(str(value))
        if kind is Text or kind is PiecewiseText:
            return str(value)
        if kind is NestedValue:
            return orjson.Fragment(value.builder.mark(WrittenValue(value, self.format_nested_values)))
        return self._describe_bytes(value) if kind is Bytes else super()._make_plain(value)

    def _describe_bytes(self, data: Any) -> dict[str, Any]:
        if type(data) is not Bytes:
            return super()._describe_bytes(data)
        return {"hex": data.builder.mark(Hex(data, self.limits.bytes_limit)), "length": data.size}
