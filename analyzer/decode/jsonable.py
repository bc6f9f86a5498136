"""Writes decoded values as JSON, at orjson's speed.

Theory. orjson writes the types that it knows and calls a hook for the others, so bytes and secrets cost one call each
and everything else costs none. It rejects integers beyond 64 bits and lone surrogates, and it has no limit for lists.
Decoders mark floats that are not finite (NonFinite), so that orjson passes them to the hook. The writer checks the
result: if orjson raises an error, or if the output is long enough to contain a list above the limit, it takes the slow
path. Few values need it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from analyzer.columns.text import escape_json
from analyzer.decode.limits import Limits
from dissectors.wire.embedded import CutList, EmbeddedValue
from dissectors.wire.flat import FlatRows, RowTable
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret

if TYPE_CHECKING:
    from analyzer.decode.json_table import JsonTableWriter

__all__ = ["OPTIONS", "JsonWriter", "Limits"]

# A Secret is a dataclass; without this option orjson would write its fields.
OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS
_BYTES_OF_A_LIST_ITEM = 2  # the least: a digit and a comma


_WORTH_COLUMNS = 6
"""Number of rows below which a list is written like any other."""


@lru_cache(maxsize=256)
def _make_template(keys: tuple[str, ...]) -> str:
    return "{" + ",".join(f"{json.dumps(key).replace('%', '%%')}:%s" for key in keys) + "}"


class JsonWriter:
    """Writes values as JSON: bytes as `{"hex", "length"}`, secrets masked, and a last item that says if a list is cut.

    `keeps`: consecutive values share columns, so their text is kept until `forget` is called.
    """

    def __init__(self, limits: Limits | None = None, *, keeps: bool = False) -> None:
        self.limits = limits or Limits()
        most = self.limits.max_items
        self._suspicious = math.inf if most is None else most * _BYTES_OF_A_LIST_ITEM
        self._keeps = keeps
        self._tables: JsonTableWriter | None = None
        self._looked_at = 0  # bytes of the line that no list in it makes suspicious

    def dumps(self, value: Any) -> bytes:
        """Returns one value as JSON, without a line break."""
        return self.format_line(value)[:-1]

    def format_line(self, value: Any) -> bytes:
        """Returns one value as JSON with a line break."""
        self._looked_at = 0
        try:
            out = orjson.dumps(value, self._make_plain, OPTIONS)
        except TypeError as error:
            if error.__cause__ is not None and not isinstance(error.__cause__, TypeError | UnicodeEncodeError):
                raise error.__cause__ from None  # an error of our hook is not an unsupported value
            return self._format_slow_line(value)
        finally:
            if not self._keeps:
                self.forget()
        if len(out) - self._looked_at <= self._suspicious or not self._has_long_list(value):
            return escape_json(out)
        return self._format_copy(value, self._copy_value(value))

    def forget(self) -> None:
        """Drops the text of the last columns."""
        if self._tables is not None:
            self._tables.forget()

    def _format_copy(self, value: Any, copy: Any) -> bytes:
        try:
            return escape_json(orjson.dumps(copy, self._make_plain, OPTIONS))
        except TypeError:
            return self._format_slow_line(value)

    def _format_slow_line(self, value: Any) -> bytes:
        """Writes huge integers and lone surrogates; the latter as JSON escapes."""
        text = json.dumps(self._copy_value(value), ensure_ascii=False, separators=(",", ":"))
        return escape_json(text.encode("utf-8", "backslashreplace") + b"\n")

    def _make_plain(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return orjson.Fragment(self._make_bytes(value))
        if isinstance(value, FlatRows):
            return self._format_flat_rows(value)
        if type(value) is RowTable:
            return self._make_table(value)
        if isinstance(value, Secret):
            return value.reveal() if self.limits.show_secrets else {"redacted": True, "length": len(value)}
        if isinstance(value, EmbeddedValue):
            return self._make_nested(value)
        if isinstance(value, CutList):
            return self._cut_list(value)
        if isinstance(value, NonFinite):
            return str(value)
        raise TypeError(f"{type(value).__name__} has no JSON form")

    def _make_bytes(self, value: bytes) -> str:
        return f'{{"hex":"{value[: self.limits.bytes_limit].hex()}","length":{len(value)}}}'

    def _make_nested(self, value: EmbeddedValue) -> dict[str, Any]:
        """Returns the bytes as usual, and the value that they decode to."""
        data: bytes | str | Secret = value.data
        if isinstance(data, Secret) and self.limits.show_secrets:
            data = data.reveal()
        form = self._describe_bytes(data) if isinstance(data, bytes) else {"redacted": True, "length": len(data)}
        name = {} if value.name is None else {"as": value.name}
        return {**form, **name, "value": value.value}

    def _describe_bytes(self, data: Any) -> dict[str, Any]:
        return {"hex": data[: self.limits.bytes_limit].hex(), "length": len(data)}

    def _cut_list(self, items: CutList) -> list[Any]:
        """Returns the items of a list that its reader has cut, and the full length."""
        return [*items[: self.limits.max_items], {"truncated": True, "length": items.length}]

    def _format_flat_rows(self, rows: FlatRows) -> Any:
        """Writes rows column by column and joins them with one template."""
        most = self.limits.max_items
        if len(rows) < _WORTH_COLUMNS or (most is not None and len(rows) > most):
            return list(rows)
        return orjson.Fragment("[" + ",".join(self._format_alike(rows)) + "]")

    def _make_table(self, table: RowTable) -> Any:
        """Returns the text of all rows; or the rows themselves, for the hook, if they must be written one by one."""
        if self.is_long(table):
            return table.rows()
        text = self.format_table(table)
        if text is None:
            return FlatRows(table.rows())
        self._looked_at += len(text)
        return orjson.Fragment(text)

    def format_table(self, table: RowTable) -> bytes | None:
        """Returns the text of all rows, not escaped for terminals; None if they must be written one by one."""
        # Only NumPy code makes a RowTable, so NumPy is loaded already. Callers without tables do not load it.
        from analyzer.decode.json_lines import Unwritable
        from analyzer.decode.json_table import JsonTableWriter

        if self._tables is None:
            self._tables = JsonTableWriter(self.limits.bytes_limit)
        try:
            return self._tables.format_table(table)
        except Unwritable:
            return None

    def find_ready_text(self, table: RowTable) -> bytes | None:
        """Returns the JSON of a table if it was made before, safe for terminals; None if there is none."""
        most = self.limits.max_items
        return (
            None if self._tables is None else self._tables.find_ready_text(table, len(table) if most is None else most)
        )

    def is_long(self, table: RowTable) -> bool:
        """Returns whether the table or a list in it has more items than the limit."""
        most = self.limits.max_items
        return most is not None and max(len(table), table.columns.longest) > most

    def _format_alike(self, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
        """Returns the text of each of several dicts that have the same keys in the same order."""
        template = _make_template(tuple(rows[0]))
        columns = [self._format_column(column) for column in zip(*map(dict.values, rows), strict=True)]
        return map(template.__mod__, zip(*columns, strict=True))

    def _format_column(self, column: tuple[Any, ...]) -> Sequence[str]:
        kinds = set(map(type, column))
        if kinds == {str}:
            known = {value: self.dumps(value).decode() for value in set(column)}
            return [known[value] for value in column]
        if kinds == {int}:
            return list(map(str, column))
        if kinds <= {bytes, type(None)}:
            limit = self.limits.bytes_limit
            return [
                "null" if value is None else f'{{"hex":"{value[:limit].hex()}","length":{len(value)}}}'
                for value in column
            ]
        if kinds == {list} and (inner := [item for items in column for item in items]) and _are_alike(inner):
            texts = self._format_alike(inner)
            return ["[" + ",".join(islice(texts, len(items))) + "]" for items in column]
        return [self.dumps(value).decode() for value in column]

    def _copy_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._copy_value(item) for key, item in value.items()}
        if isinstance(value, CutList):
            return [self._copy_value(item) for item in self._cut_list(value)]
        if isinstance(value, list | tuple | RowTable):
            most = self.limits.max_items
            if most is None or len(value) <= most:
                return [self._copy_value(item) for item in value]
            return [*(self._copy_value(item) for item in value[:most]), {"truncated": True, "length": len(value)}]
        if isinstance(value, bytes):
            return self._describe_bytes(value)
        if isinstance(value, Secret | EmbeddedValue):
            return self._copy_value(self._make_plain(value))
        return str(value) if isinstance(value, NonFinite) else value

    def _has_long_list(self, value: Any) -> bool:
        most = self.limits.max_items or 0
        seen = [value]
        for item in seen:  # the list grows during iteration; this avoids recursion and a call for each value
            if type(item) is int or type(item) is str:
                continue
            if type(item) is dict:
                seen.extend(item.values())
            elif isinstance(item, EmbeddedValue):
                seen.append(item.value)
            elif type(item) is RowTable:
                if max(len(item), item.columns.longest) > most:
                    return True
            elif isinstance(item, list):
                if len(item) > most:
                    return True
                if isinstance(item, FlatRows):
                    lists = [key for key, cell in item[0].items() if isinstance(cell, list)] if item else []
                    if any(len(row[key]) > most for key in lists for row in item):
                        return True
                else:
                    seen.extend(item)
        return False


def _are_alike(rows: Sequence[Any]) -> bool:
    """Returns whether these are dicts with the same keys in the same order."""
    return all(type(row) is dict for row in rows) and len(set(map(tuple, rows))) == 1
