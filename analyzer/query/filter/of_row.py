"""Makes filters for messages that share something with a row: its operation, stream, client, error, topic and so on.

Theory. Values in the index come first, then the field aliases of its protocol. Each filter is tested with the row
itself before it is offered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from analyzer.decode.content import find_dissector, read_cell, read_header
from analyzer.decode.rows import RowReader
from analyzer.query.fields import FieldKind, FieldReader, find_field
from analyzer.query.filter.alike import matches_row
from analyzer.query.filter.literals import list_comparisons, quote
from analyzer.session import Session
from dissectors.wire.secret import Secret

MOST_VALUES = 5
"""Number of values of one alias that are offered; a message may name a thousand topics."""

MOST_SHOWN = 1 << 20
"""Length in bytes above which a message's body is not read."""

_KEYS = ("operation", "client", "error.name", "state", "role", "source.ip", "destination.ip", "version")


class RowFilter(NamedTuple):
    """A filter that a row matches, with a title that says what it compares."""

    about: str
    text: str


def list_row_filters(session: Session, row: int) -> list[RowFilter]:
    """Returns the filters that menus offer for a row; the row matches each of them."""
    reader, rows = RowReader(session), np.array([row])
    found = {offered.text: offered for offered in _list_filters(session, reader, rows)}
    return [offered for offered in found.values() if matches_row(offered.text, reader, rows)]


def _list_filters(session: Session, reader: RowReader, rows: Any) -> Iterator[RowFilter]:
    row = int(rows[0])
    dissector, header = find_dissector(session, row), read_header(session, row)
    if dissector is not None and header.operation is not None:
        yield RowFilter("this operation of this protocol", f"{dissector.name}.{header.operation}")
    yield RowFilter("this stream", f"stream == {session.rows.cell('stream', row)}")
    partner = read_cell(session, "partner", row)
    if partner is not None:
        yield RowFilter("this exchange", f"number in {{{min(row, partner) + 1}, {max(row, partner) + 1}}}")
    reading = FieldReader(reader, [find_field(key) for key in _KEYS])
    for key in _KEYS:
        for value in _read_values(reading, key, rows):
            if isinstance(value, str) and find_field(key).kind is FieldKind.TEXT:
                yield RowFilter(f"this {key}", f"{key} == {value if value.isidentifier() else quote(value)}")
            else:
                yield RowFilter(f"this {key}", f"{key} == {value}")
    if dissector is None:
        return
    yield RowFilter("this protocol", f"protocol == {dissector.name}")
    catalog = dissector.catalog
    if catalog is None or session.rows.cell("length", row) > MOST_SHOWN:
        return
    names = [f"{dissector.name}.{short.name}" for short in catalog.field_aliases()]
    reading = FieldReader(reader, [find_field(name) for name in names])
    for name in names:
        for value in islice(dict.fromkeys(_read_values(reading, name, rows)), MOST_VALUES):
            for text in list(list_comparisons(find_field(name), value))[:1]:
                yield RowFilter(f"this {name.partition('.')[2]}", text)


def _read_values(reading: FieldReader, name: str, rows: Any) -> list[Any]:
    (found,) = reading.read_by_row(find_field(name), rows)
    return [value for value in found if isinstance(value, str | int | float) and not isinstance(value, Secret)]
