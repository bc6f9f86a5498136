"""Formats a cell: the values that a path has in one row.

Theory. Programs that read JSON expect one type for each key, so a path that can repeat is always a list. A cell of a
table has one text: the values joined with commas, as in tshark, so that a comma in a value looks like a separator.
Bytes are hexadecimal, up to the limits; secrets stay masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from analyzer.columns.text import read_text
from analyzer.decode.jsonable import JsonWriter, Limits
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret

if TYPE_CHECKING:
    from analyzer.query.fields import FieldPath

BETWEEN, MORE = ",", "..."


class ListedCell:
    """Formats a cell for JSON: a list if the path can repeat, else the value or null."""

    is_text = False

    def __call__(self, path: FieldPath, values: Sequence[Any]) -> Any:
        """See CellFormat."""
        found = [value for value in values if value != []]
        if path.repeated or len(found) > 1:
            return found
        return found[0] if found else None


class JoinedCell:
    """Formats all values of a cell as one text, or None.

    labels: for people: numbers get their names, and bytes are shown as text if possible.
    """

    is_text = True

    def __init__(self, limits: Limits, *, labels: bool = False) -> None:
        self._limits, self._labels, self._json = limits, labels, JsonWriter(limits)

    def __call__(self, path: FieldPath, values: Sequence[Any]) -> str | None:
        """See CellFormat."""
        if not values:
            return None
        most = self._limits.max_items
        shown = [self._format_labelled(path, value) for value in islice(values, most) if value != []]
        more = [MORE] if most is not None and len(values) > most else []
        return BETWEEN.join(shown + more) if shown or more else None

    def _format_labelled(self, path: FieldPath, value: Any) -> str:
        if self._labels and path.label is not None and type(value) is int:
            return path.label(value) or str(value)
        return self._format_text(value)

    def _format_text(self, value: Any) -> str:
        if isinstance(value, EmbeddedValue):
            value = value.data
        if isinstance(value, Secret) and self._limits.show_secrets:
            value = value.reveal()
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, bytes):
            shown = value[: self._limits.bytes_limit]
            text = read_text(shown, cut=len(shown) < len(value)) if self._labels else None
            if text is not None:
                return text + (MORE if len(shown) < len(value) else "")
            if self._labels and not value:
                return '""'
            return shown.hex() + (MORE if len(shown) < len(value) else "")
        if isinstance(value, int | NonFinite):
            return str(value)
        return self._json.dumps(value).decode()
