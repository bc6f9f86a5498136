"""Makes filters for messages that have the same value as a field of a message, or share something with a row.

Theory. A tree shows a message as it is in the bytes; a filter uses the names of the catalog. Most names follow from the
tree: indexes of arrays and nodes that only enclose the body (`command`, `header`) are left out. The others are guessed,
and each guess is tested with the message itself. So the filter matches the message, or there is none. Fields without a
name (lengths, marks, tags) are compared by their bytes and offset. A masked value is only tested for presence.

Theory. Values in the index come first, then the field aliases of its protocol. Each filter is tested with the row
itself before it is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.content import find_dissector, read_cell, read_header
from analyzer.decode.masking import find_secret_spans, has_hidden_parts, has_hidden_value, is_secret
from analyzer.decode.rows import RowReader
from analyzer.query.fields import FieldKind, FieldPath, FieldReader, find_field
from analyzer.query.fields.catalog import find_known
from analyzer.query.filter import Filter, FilterError, compile_filter
from analyzer.query.filter.literals import LONGEST, format_bytes, list_comparisons, quote
from analyzer.session import Session
from dissectors.field import Field, Tree
from dissectors.wire.secret import Secret

_OUTER = 3
"""Number of nodes around a body that the names of its fields may leave out."""

_HEAD = 2
"""Number of nodes on the path to a field of the header that is also a key of rows."""

UNKNOWN = "unknown"
"""The protocol that rows show for raw bytes."""

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DIRECTIONS: Mapping[bool, str] = {True: "response", False: "request"}

Path = Sequence[Field]


def make_filter(session: Session, row: int, tree: Tree, path: Path) -> str | None:
    """Returns the filter for messages with the value of the last node of `path`; None if there is no such filter.

    `path` are nodes of `row`, from the outermost one in. Decodes the row; for long messages, call it in the background.
    """
    reader, rows = RowReader(session), np.array([row])
    texts = chain(
        _filter_by_key(session, row, path),
        _filter_by_name(session, row, path),
        _filter_by_bytes(session, row, tree, path),
    )
    return next((text for text in texts if matches_row(text, reader, rows)), None)


def matches_row(text: str, reader: RowReader, rows: Ints) -> bool:
    """Returns whether one row matches a filter.

    Returns False if the text is not a valid filter, because a name means something else or takes other values.
    """
    try:
        wanted: Filter = compile_filter(text)
    except FilterError:
        return False
    return bool(wanted.find_mask(reader, rows)[0])


def find_path(session: Session, row: int, path: Path) -> str | None:
    """Returns the name of a node's field in filters and as a column, or None."""
    return next((field.name for field in _find_fields(session, row, path)), None)


def is_masked(path: Path) -> bool:
    """Returns whether the value of the last node, or of a node around it, is masked."""
    return is_secret(path[-1]) or has_hidden_value(path[-1]) or any(map(has_hidden_parts, path[:-1]))


def _filter_by_key(session: Session, row: int, path: Path) -> Iterator[str]:
    """Yields a filter by a key of the row that the header contains."""
    node, header, name = path[-1], read_header(session, row), path[-1].spec.name.lower()
    if len(path) > _HEAD or node.spec.type == "struct":
        return
    if len(path) == 1 and name == "length":
        yield f"length == {session.rows.cell('length', row)}"
    elif node.value is None:
        return
    elif name.endswith(("key", "code", "type")) and header.operation and node.value in (header.code, header.operation):
        yield f"{_find_protocol(session, row)}.{header.operation}"
    elif name.endswith("version") and node.value == header.version:
        yield f"version == {header.version}"
    elif node.value == header.correlation and not isinstance(node.value, bool) and "id" in name:
        yield f"correlation == {header.correlation}"
    elif node.value == header.client and isinstance(node.value, str):
        yield f"client == {quote(node.value)}"


def _filter_by_name(session: Session, row: int, path: Path) -> Iterator[str]:
    node = path[-1]
    for field in _find_fields(session, row, path):
        if is_masked(path) or isinstance(node.value, Secret):
            yield field.name
        elif node.value is None:
            yield f"{_name_message_kind(session, row)} and not {field.name}"
        elif field.kind is FieldKind.STRUCT or field.kind is FieldKind.PRESENCE:
            yield field.name
        else:
            yield from list_comparisons(field, node.value)
            if node.children:
                yield field.name
    if node.spec.name == "count" and len(path) > 1:
        for field in _find_fields(session, row, path[:-1]):
            yield f"count({field.name}) == {node.value}"


def _find_fields(session: Session, row: int, path: Path) -> Iterator[FieldPath]:
    """Yields the fields that may be meant, the most exact first."""
    every = [node.spec.name for node in path if not node.spec.name.startswith("[")]
    names = [name for name, _ in groupby(every)]  # a structure in a text repeats the name of its field
    if not names:
        return
    protocol = _find_protocol(session, row)
    yield from filter(None, map(find_known, _list_names(session, row, protocol, names)))


def _list_names(session: Session, row: int, protocol: str, names: Sequence[str]) -> Iterator[str]:
    whole = _name_message_kind(session, row)
    for outer in range(min(_OUTER, len(names))):
        inner = names[outer:]
        yield ".".join((whole, *inner))
        for at in range(len(inner) - 1, 0, -1):
            yield ".".join((whole, *inner[:at], "value", *inner[at:]))
    if len(names) <= _HEAD:
        yield f"{protocol}.{_CAPITAL.sub('_', names[-1]).lower()}"  # tshark's name for a field of the header


def _name_message_kind(session: Session, row: int) -> str:
    """Returns the name for messages of the same kind, such as `kafka.Fetch.response`."""
    header = read_header(session, row)
    protocol = _find_protocol(session, row)
    if header.operation is None:
        return protocol
    both = f"{protocol}.{header.operation}"
    one = f"{both}.{_DIRECTIONS[header.role.name == 'RESPONSE']}"
    return next((name for name in (one, both) if find_known(name) is not None), protocol)


def _find_protocol(session: Session, row: int) -> str:
    dissector = find_dissector(session, row)
    return UNKNOWN if dissector is None else dissector.name


def _filter_by_bytes(session: Session, row: int, tree: Tree, path: Path) -> Iterator[str]:
    """Yields a filter by the bytes of the innermost node that has unmasked bytes of the message itself."""
    masks, whole = find_secret_spans(tree).get(0, ()), _name_message_kind(session, row)
    also = "" if whole == UNKNOWN else f"{whole} and "
    data = tree.sources[0].data
    for node in reversed(path):
        end = min(node.offset + node.length, len(data), node.offset + LONGEST)
        if node.source or end <= node.offset or any(first < end and node.offset < last for first, last in masks):
            continue
        yield f"{also}bytes[{node.offset}:{end - node.offset}] == {format_bytes(data[node.offset : end])}"
    yield f"protocol == {UNKNOWN}" if whole == UNKNOWN else whole


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
