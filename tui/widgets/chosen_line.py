"""How a row looks in columns that the user has chosen.

Theory. Texts are made safe and measured once, when they are read; most are ASCII, as long as they are wide. Neighbours
of one style are one piece of the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len

from analyzer.columns.text import safe_text
from analyzer.render.durations import duration
from analyzer.render.table import ARROWS
from tui.model.cells import RowCells
from tui.model.chosen import INFO, WIDEST_COLUMN, ListColumn, ListColumns
from tui.model.times import REFERENCE, TimeWidth
from tui.widgets.cutting import cut_text
from tui.widgets.listing import SIGN_CELLS, RowContext, Span, choose_style, make_info_spans, make_signs, name_operation

PENDING = "..."
"""In place of a field that has not been read yet."""

_FIGURES = frozenset({"number", "stream", "version", "length", "partner"})
_WORDS = frozenset({"role", "protocol", "state"})


class CustomColumns:
    """The columns with the widths that they have now. See Columns of tui.widgets.listing."""

    def __init__(self, chosen: ListColumns, time: TimeWidth, rows: int) -> None:
        self._chosen, self.time = chosen, time
        self._columns = chosen.columns
        self._least = [
            time.cells if column.key == "time" else max(4, len(str(rows))) if column.key == "number" else 0
            for column in chosen.columns
        ]
        self._last = len(chosen.columns) - 1
        self._has_time = any(column.key == "time" for column in chosen.columns)
        self._measure()

    def _measure(self) -> None:
        """Info takes what is left where it stands last, as does any text there; else it has its bound."""
        self._widths = [
            0 if place == self._last and not column.right else WIDEST_COLUMN if column.key == INFO else max(wide, least)
            for place, (column, wide, least) in enumerate(
                zip(self._columns, self._chosen.widths, self._least, strict=True)
            )
        ]

    def make_head(self) -> str:
        """The names of the columns, behind the mark of one cell that every head begins with."""
        cells = [
            _pad(safe_text(column.title, WIDEST_COLUMN), width, column.right)
            for column, width in zip(self._columns, self._widths, strict=True)
        ]
        return " " * (SIGN_CELLS - 1) + " ".join(cells)

    def make_texts(self, row: RowCells, more: Mapping[str, str], look: RowContext) -> list[str]:
        """What stands in the columns, safe; of the line for people nothing, which is made of pieces."""
        return [_make_text(column.key, row, more, look) for column in self._columns]

    def fit(self, rows: Iterable[Sequence[str]]) -> bool:
        """Makes room for these texts of rows; whether a column has become wider."""
        wide = [max(map(_count_cells, column)) for column in zip(*rows, strict=True)]
        is_wider = bool(wide) and self._chosen.widen(wide)
        if is_wider:
            self._measure()
        return is_wider

    def make_spans(self, row: RowCells, texts: Sequence[str], look: RowContext) -> list[Span]:
        """One message's line."""
        spans = [*make_signs(row, look)]
        if look.referred and not self._has_time:
            spans.append(("partner", f"{REFERENCE} "))
        style, said = "", ""
        for place, (column, text, width) in enumerate(zip(self._columns, texts, self._widths, strict=True)):
            if column.key == INFO:
                spans += [(style, said), *self._make_info(place, row, look)]
                said = ""
                continue
            mine = _choose_style(column, row, look)
            if mine != style:
                spans.append((style, said))
                style, said = mine, ""
            said += _pad(text, width, column.right) + " "
        return [*spans, (style, said)]

    def _make_info(self, place: int, row: RowCells, look: RowContext) -> list[Span]:
        spans = make_info_spans(row, look)
        if place == self._last:
            return spans
        text = "".join(safe_text(text, WIDEST_COLUMN + 1) for _, text in spans).rstrip()
        return [(spans[0][0] if spans else "", _pad(text, WIDEST_COLUMN, False) + " ")]


def _count_cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _pad(text: str, width: int, right: bool) -> str:
    """A safe text in its column; 0 for one behind which nothing is aligned."""
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
    if key in _FIGURES:
        value: int | None = getattr(row, key)
        return "" if value is None else str(value)
    if key == "time":
        return look.time
    if key == "latency_ns":
        return duration(row.latency)
    if key in _WORDS:
        word: str = getattr(row, key)
        return word
    if key == "operation":
        return f"{ARROWS[row.role]} {safe_text(name_operation(row), WIDEST_COLUMN)}"
    if key in ("error", "findings"):
        return _make_body_text(key, row)
    return "" if key == INFO or look.ignored else safe_text(more.get(key, PENDING), WIDEST_COLUMN + 1)


def _make_body_text(key: str, row: RowCells) -> str:
    said = row.body
    if said is None:
        return ""
    return (
        safe_text(said.error or "", WIDEST_COLUMN + 1)
        if key == "error"
        else ",".join(code for _, code in said.findings)
    )
