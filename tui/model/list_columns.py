"""Columns of the list that the user has chosen: any key or field, each as wide as its content.

Theory. Keys that row cells have (tui.model.row_cells) need no reading. Other keys of the index are read with the rows
on the screen. Fields of bodies are read by another thread and cached for the last few thousand rows. A column is as
wide as the widest text that it has shown, up to a bound; it never shrinks, so that the list does not jump while you
scroll. If not all columns fit, the widest texts are cut, so that each column stays on the screen. Texts are made safe
and measured once. Neighbours of one style are one piece of the line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import BODY_KEYS, RowReader
from analyzer.errors import UserError
from analyzer.query.column_names import ColumnKeys, find_number_keys, resolve_keys
from analyzer.query.presets import TABLE_KEYS, load_presets
from analyzer.render.aligned import NUMBERS
from analyzer.render.durations import format_duration
from analyzer.render.extended_rows import ExtendedRowReader
from analyzer.render.shapes import JoinedCell
from analyzer.render.table import ARROWS
from analyzer.session import Session
from tui.model.drawing import cut_text
from tui.model.row_cells import RowCells
from tui.model.row_spans import (
    SIGN_CELLS,
    RowContext,
    Span,
    choose_style,
    join_titles,
    make_info_spans,
    make_signs,
    name_operation,
)
from tui.model.times import REFERENCE, TimeWidth

MOST_FIELDS = 4096
"""The number of rows whose fields are cached."""

WIDEST_COLUMN = 40
"""The cells of a column at most, except the info column, which takes the rest."""

MOST_VALUES, MOST_BYTES = 20, 32
"""The values of a field in a cell at most, and the bytes of one value."""

WIDEST_TITLE = 24
"""The cells that a title alone may take."""

LEAST_TEXT, LEAST_OPERATION, LEAST_INFO = 10, 14, 16
"""The cells that a cut text keeps in a narrow list, an operation, and the info column."""

WIDEST_TITLE = 24
"""The cells that a title alone may take."""

LEAST_TEXT, LEAST_OPERATION, LEAST_INFO = 10, 14, 16
"""The cells that a cut text keeps in a narrow list, an operation, and the info column."""

INFO = "info"

CELL_KEYS = frozenset(
    {"number", "time", "stream", "protocol", "role", "operation", "version", "length", "latency_ns", "partner"}
    | {"state", *BODY_KEYS}
)
"""Keys that RowCells has."""

INFO_KEYS = frozenset({"state", "error", "findings"})
"""Keys that the info column shows, too; sets of columns like that of `list` do not repeat them."""

AUTOMATIC = ("number", "time", "operation", "version", "length", "latency", INFO)
"""The standard columns by name."""

COLUMN_TITLES: Mapping[str, str] = {"number": "No.", "stream": "Str", "version": "V", "latency_ns": "Latency"}


class ListColumn(NamedTuple):
    """A column.

    name: as the user wrote it. key: as it is read. right: numbers, aligned to the right.
    """

    name: str
    key: str
    right: bool

    def make_title(self, others: Collection[str]) -> str:
        """Returns the title: of a long path its end, as much of it as tells it from the names of other columns."""
        if self.key in COLUMN_TITLES:
            return COLUMN_TITLES[self.key]
        if "." not in self.name:
            return self.name[:1].upper() + self.name[1:]
        parts = self.name.split(".")
        ends = (".".join(parts[begin:]) for begin in range(len(parts) - 1, 0, -1) if len(parts) > 2)
        return next((end for end in ends if not any(f".{name}".endswith(f".{end}") for name in others)), self.name)


class ListColumns:
    """Columns by the names that `-e` takes. Raises UserError for a name that means nothing.

    limits: whether secrets are shown. Used by the thread that paints, except read_fields().
    """

    def __init__(self, session: Session, names: Sequence[str], limits: Limits) -> None:
        self.names = tuple(dict.fromkeys(names))
        if not self.names:
            raise UserError("The list needs at least one column.")
        keys = resolve_keys(self.names, "columns")
        if "fields" in keys.names:
            raise UserError("The column fields is not for the list. The tree shows all fields.")
        right = NUMBERS | find_number_keys(keys)
        self.columns = [ListColumn(name, key, key in right) for name, key in zip(keys.titles, keys.names, strict=True)]
        others = {column.name for column in self.columns}
        self.titles = [_cut_front(safe_text(each.make_title(others - {each.name}))) for each in self.columns]
        self.widths = [min(len(title), WIDEST_TITLE) for title in self.titles]
        self._session = session
        self._cell_format = JoinedCell(Limits(MOST_BYTES, MOST_VALUES, show_secrets=limits.show_secrets), labels=True)
        self._index_keys = [key for key in keys.names if key not in CELL_KEYS and not _is_expensive(keys, key)]
        self._body_keys = [key for key in keys.names if _is_expensive(keys, key)]
        self._paths = keys.paths
        self._fields: dict[int, tuple[str, ...]] = {}
        self.edition = 0
        """A number that rises with clear(): fields of an earlier edition are ignored."""
        self.clear()

    def clear(self) -> None:
        """Drops all fields; they are read again on demand, for instance because names were resolved."""
        self.edition += 1
        self._fields.clear()
        self._index_reader, self._body_reader = self._make_reader(self._index_keys), self._make_reader(self._body_keys)

    def _make_reader(self, keys: Iterable[str]) -> ExtendedRowReader:
        paths = {key: self._paths[key] for key in keys if key in self._paths}
        return ExtendedRowReader(RowReader(self._session), paths, self._cell_format, with_names=True)

    def read_texts(self, rows: Sequence[int]) -> list[dict[str, str]]:
        """Returns the texts of rows beyond their cells, as far as they have been read."""
        numbers_ = np.array(rows, np.int64)
        columns = [self._index_reader.read_column(key, numbers_).values() for key in self._index_keys]
        found = [dict(zip(self._index_keys, map(format_value, row), strict=True)) for row in zip(*columns, strict=True)]
        found = found or [{} for _ in rows]
        for row, texts in zip(rows, found, strict=True):
            texts.update(zip(self._body_keys, self._fields.get(row, ()), strict=False))
        return found

    def list_missing(self, rows: Iterable[int]) -> list[int]:
        """Returns those of the rows whose fields must be read."""
        return [row for row in rows if row not in self._fields] if self._body_keys else []

    def read_fields(self, rows: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Reads the fields of rows, in another thread."""
        columns = [self._body_reader.read_column(key, np.array(rows, np.int64)).values() for key in self._body_keys]
        return {
            row: tuple(map(format_value, texts)) for row, texts in zip(rows, zip(*columns, strict=True), strict=True)
        }

    def add_fields(self, edition: int, found: Mapping[int, tuple[str, ...]]) -> list[int]:
        """Adds fields that were read; returns the rows that have changed."""
        if edition != self.edition:
            return []
        self._fields |= found
        while len(self._fields) > MOST_FIELDS:
            del self._fields[next(iter(self._fields))]
        return list(found)

    def widen(self, widths: Sequence[int]) -> bool:
        """Widens columns to the needed cells; returns whether one has become wider."""
        before = self.widths
        self.widths = [max(wide, min(need, WIDEST_COLUMN)) for wide, need in zip(before, widths, strict=True)]
        return self.widths != before


def _cut_front(text: str) -> str:
    """Cuts a title to WIDEST_TITLE cells: its end counts."""
    return text if len(text) <= WIDEST_TITLE else ELLIPSIS + text[1 - WIDEST_TITLE :]


def _is_expensive(keys: ColumnKeys, key: str) -> bool:
    return key in keys.paths and not keys.paths[key].is_cheap


def format_value(value: object) -> str:
    """Formats a cell; the text is not safe for terminals, but secrets have been masked."""
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def list_set_keys(keys: Sequence[str]) -> list[str]:
    """Returns the columns of a set, without keys that the info column shows too."""
    if tuple(keys) == tuple(TABLE_KEYS):
        return [key for key in keys if key not in INFO_KEYS]
    return list(keys)


def collect_sets(own: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Returns all sets of columns by name; those of the configuration come first and override built-in ones."""
    return {**own, **{name: keys for name, keys in load_presets().items() if name not in own}}


def insert_column(names: Sequence[str], name: str) -> list[str]:
    """Inserts a column, before the info column if that is the last one."""
    if name in names:
        return list(names)
    return [*names[:-1], name, INFO] if names and names[-1] == INFO else [*names, name]


PENDING = "..."
"""The text in place of a field that has not been read yet."""

_RIGHT_ALIGNED = frozenset({"number", "stream", "version", "length", "partner"})
_WORDS = frozenset({"role", "protocol", "state"})


class CustomColumns:
    """The user's columns with their present widths; has the methods of StandardColumns.

    width: the cells of the list.
    """

    def __init__(self, chosen: ListColumns, time: TimeWidth, rows: int, width: int) -> None:
        self._chosen, self.time, self._available = chosen, time, width - SIGN_CELLS
        self._columns = chosen.columns
        self._least = [
            time.cells if column.key == "time" else max(4, len(str(rows))) if column.key == "number" else 0
            for column in chosen.columns
        ]
        self._last = len(chosen.columns) - 1
        self._has_time = any(column.key == "time" for column in chosen.columns)
        self._measure()

    def _measure(self) -> None:
        """Computes widths; the last column takes what is left if it is text."""
        wanted = [
            WIDEST_COLUMN if column.key == INFO else max(wide, least)
            for column, wide, least in zip(self._columns, self._chosen.widths, self._least, strict=True)
        ]
        takes_rest = not self._columns[-1].right
        if takes_rest:
            wanted[-1] = LEAST_INFO
        least = {
            place: LEAST_OPERATION if each.key == "operation" else LEAST_TEXT
            for place, each in enumerate(self._columns)
            if not each.right and each.key != "time"
        }
        _shrink_widest(wanted, least, self._available - len(wanted))
        self._widths = [*wanted[:-1], 0 if takes_rest else wanted[-1]]

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self._chosen.names

    def find_cells(self, name: str) -> tuple[int, int]:
        """Returns the first cell of a column, and the one behind its last; a column without a width has LEAST_INFO."""
        at = self._chosen.names.index(name)
        begin = SIGN_CELLS + sum(width + 1 for width in self._widths[:at])
        return begin, begin + (self._widths[at] or LEAST_INFO)

    def make_head(self) -> str:
        """Returns the titles of the columns."""
        return join_titles(self.make_titles())

    def make_titles(self) -> list[tuple[str, str]]:
        """Returns the names of the columns, each with its title as wide as the column."""
        return [
            (column.name, _pad(title, width, column.right))
            for title, column, width in zip(self._chosen.titles, self._columns, self._widths, strict=True)
        ]

    def make_texts(self, row: RowCells, more: Mapping[str, str], look: RowContext) -> list[str]:
        """Returns the safe texts of a row's columns; "" for the info column, which consists of spans."""
        return [_make_text(column.key, row, more, look) for column in self._columns]

    def fit(self, rows: Iterable[Sequence[str]]) -> bool:
        """Widens columns for the texts of rows; returns whether one has become wider."""
        wide = [max(map(_count_cells, column)) for column in zip(*rows, strict=True)]
        is_wider = bool(wide) and self._chosen.widen(wide)
        if is_wider:
            self._measure()
        return is_wider

    def make_spans(self, row: RowCells, texts: Sequence[str], look: RowContext) -> list[Span]:
        """Returns the line of a message."""
        spans = [*make_signs(row, look)]
        if look.referred and not self._has_time:
            spans.append(("partner", f"{REFERENCE} "))
        style, lead_text = "", ""
        for place, (column, text, width) in enumerate(zip(self._columns, texts, self._widths, strict=True)):
            if column.key == INFO:
                spans += [(style, lead_text), *self._make_info(place, row, look)]
                lead_text = ""
                continue
            mine = _choose_style(column, row, look)
            if mine != style:
                spans.append((style, lead_text))
                style, lead_text = mine, ""
            lead_text += _pad(text, width, column.right) + " "
        return [*spans, (style, lead_text)]

    def _make_info(self, place: int, row: RowCells, look: RowContext) -> list[Span]:
        spans = make_info_spans(row, look)
        if place == self._last:
            return spans
        text = "".join(safe_text(text, WIDEST_COLUMN + 1) for _, text in spans).rstrip()
        return [(spans[0][0] if spans else "", _pad(text, self._widths[place], False) + " ")]


def _shrink_widest(widths: list[int], least: Mapping[int, int], available: int) -> None:
    """Makes the widest columns narrower until all fit into `available` cells, or none of `least` can give more."""
    while sum(widths) > available:
        widest = max((place for place in least if widths[place] > least[place]), key=widths.__getitem__, default=None)
        if widest is None:
            break
        widths[widest] -= 1


def _count_cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _pad(text: str, width: int, right: bool) -> str:
    """Pads or cuts a safe text to its column; width 0: nothing is aligned behind it."""
    size = _count_cells(text)
    if not width or size == width:
        return text
    if size > width:
        return cut_text(text, width)
    return " " * (width - size) + text if right else text + " " * (width - size)


def _choose_style(column: ListColumn, row: RowCells, look: RowContext) -> str:
    match column.key:
        case "operation":
            return look.rule[0] if look.rule and look.rule[0] else choose_style(row)
        case "error":
            return "error"
        case "number" if look.partner:
            return "partner"
    return "dim" if column.right or column.key == "time" else "value"


def _make_text(key: str, row: RowCells, more: Mapping[str, str], look: RowContext) -> str:
    if key in _RIGHT_ALIGNED:
        value: int | None = getattr(row, key)
        return "" if value is None else str(value)
    if key == "time":
        return look.time
    if key == "latency_ns":
        return format_duration(row.latency)
    if key in _WORDS:
        word: str = getattr(row, key)
        return word
    if key == "operation":
        return f"{ARROWS[row.role]} {safe_text(name_operation(row), WIDEST_COLUMN)}"
    if key in ("error", "findings"):
        return _make_body_text(key, row)
    return "" if key == INFO or look.ignored else safe_text(more.get(key, PENDING), WIDEST_COLUMN + 1)


def _make_body_text(key: str, row: RowCells) -> str:
    lead_text = row.body
    if lead_text is None:
        return ""
    return (
        safe_text(lead_text.error or "", WIDEST_COLUMN + 1)
        if key == "error"
        else ",".join(code for _, code in lead_text.findings)
    )
