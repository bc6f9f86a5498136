"""Two messages, or two streams, side by side: the lines of the page that compares them.

Theory. Fields are aligned by analyzer.render.field_alignment. The bytes of a field that is not the same on the other
side are coloured; so a field that was inserted does not colour all bytes behind it. Messages of two streams are aligned
in order by what they are: operation and role, as a diff aligns lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.columns.text import safe_text
from analyzer.decode import fragments
from analyzer.decode.limits import Limits
from analyzer.decode.masking import Span, find_secret_spans
from analyzer.decode.rows import RowReader
from analyzer.render.amounts import format_counted
from analyzer.render.durations import format_duration
from analyzer.render.field_alignment import AlignedField, FieldState, align_fields, find_key
from analyzer.render.fitting import count_cells, cut_end, cut_middle
from analyzer.render.lines import Line
from analyzer.render.tree_text import format_node
from analyzer.session import Session
from dissectors.field import Field, Tree
from tui.model.detail import HexRows

MOST_MESSAGES = 2000
"""Messages of a stream that are compared: aligning takes time that grows with the square of their number."""

SIGNS: Mapping[FieldState, tuple[str, str]] = {
    FieldState.SAME: (" ", "dim"),
    FieldState.CHANGED: ("~", "warning"),
    FieldState.ONLY_LEFT: ("<", "error"),
    FieldState.ONLY_RIGHT: (">", "text"),
}
"""The sign and the style of each state."""

_GAP = "  "
_SHARE = 0.36
"""The largest share of the width that names take."""

_FEWEST_CELLS = 12


class ComparedRow(NamedTuple):
    """A line, and what it is about: a field of the message `row`, or two messages `pair`."""

    line: Line
    row: int | None = None
    field: Field | None = None
    pair: tuple[int, int] | None = None


class ComparedMessage(NamedTuple):
    """A message to be compared: its row, its cells for people, its tree."""

    row: int
    cells: Mapping[str, Any]
    tree: Tree


_KEYS = ("number", "time", "stream", "source", "destination", "operation", "version", "role", "length", "latency_ns",
         "error", "info")  # fmt: skip


def read_cells(session: Session, rows: Ints) -> list[dict[str, Any]]:
    """Reads what lines say of rows."""
    return list(RowReader(session).read_objects(_KEYS, rows))


def compare_messages(
    session: Session, rows: tuple[int, int], limits: Limits, width: int, *, shows_all: bool
) -> list[ComparedRow]:
    """Compares two messages: what they are, their fields, and their bytes.

    shows_all: also what is the same.
    """
    cells = read_cells(session, list_distinct(np.array(rows)))
    by_row = dict(zip(sorted(set(rows)), cells, strict=True))
    left, right = (ComparedMessage(row, by_row[row], fragments.decode_tree_with_message(session, row)) for row in rows)
    aligned = align_fields(left.tree.fields, right.tree.fields)
    lines = [*_format_heads(left, right, width), ComparedRow(())]
    lines.append(ComparedRow((("title", f"fields: {format_counted(_count_differences(aligned), 'difference')}"),)))
    lines += _format_fields(left, right, aligned, limits, width, shows_all=shows_all)
    lines.append(ComparedRow(()))
    lines += _format_sources(left, right, aligned, limits, width, shows_all=shows_all)
    return lines


def _count_differences(aligned: Sequence[AlignedField]) -> int:
    """Counts the fields that are not the same; of one side alone, the outermost field stands for those below it."""
    outermost = zip(aligned, _mark_outermost(aligned), strict=True)
    return sum(is_outermost and each.state is not FieldState.SAME for each, is_outermost in outermost)


def _mark_outermost(aligned: Sequence[AlignedField]) -> Iterator[bool]:
    """Yields for each field whether it is below no field of one side alone."""
    lonely: int | None = None
    for each in aligned:
        is_outermost = lonely is None or each.depth <= lonely
        if is_outermost:
            lonely = each.depth if each.is_alone else None
        yield is_outermost


def _format_heads(left: ComparedMessage, right: ComparedMessage, width: int) -> Iterator[ComparedRow]:
    """Yields what both messages are, in two columns."""
    heads = [_list_heads(each) for each in (left, right)]
    for place, (one, other) in enumerate(zip(*heads, strict=True)):
        style = "" if place else "title"
        yield ComparedRow(_put_side_by_side(2, (("", ""),), ((style, one),), ((style, other),), width))


def _list_heads(message: ComparedMessage) -> tuple[str, ...]:
    cells = message.cells
    date, _, time = cells["time"].partition("T")
    return (
        f"message {message.row + 1}  {time[:-4]}, {date}",
        f"{cells['operation']}{_format_version(cells)} {cells['role']}, {cells['length']:,} bytes"
        + _format_latency(cells),
        f"stream {cells['stream']}, {cells['source']} > {cells['destination']}",
        str(cells["info"]),
    )


def _format_version(cells: Mapping[str, Any]) -> str:
    return "" if cells["version"] is None else f" v{cells['version']}"


def _format_latency(cells: Mapping[str, Any]) -> str:
    return "" if cells["latency_ns"] is None else f", {format_duration(cells['latency_ns'])}"


def _format_fields(
    left: ComparedMessage,
    right: ComparedMessage,
    aligned: Sequence[AlignedField],
    limits: Limits,
    width: int,
    *,
    shows_all: bool,
) -> Iterator[ComparedRow]:
    """Yields a line for each row of aligned fields; of one side alone the outermost field stands for those in it."""
    shown = [
        (each, count) for each, count in zip(aligned, _count_below(aligned), strict=True) if shows_all or each.changed
    ]
    names = max((2 * each.depth + count_cells(each.name) for each, _ in shown), default=0)
    name_width = max(min(names, int(width * _SHARE)), _FEWEST_CELLS)
    outermost = _mark_outermost([each for each, _ in shown])
    for (each, below), is_outermost in zip(shown, outermost, strict=True):
        if not (is_outermost or shows_all):
            continue
        left_value, right_value = (
            () if node is None else _format_value(node, limits, each, below if each.is_alone and not shows_all else 0)
            for node in (each.left, each.right)
        )
        sign, style = SIGNS[each.state]
        name = cut_middle(f"{'  ' * each.depth}{safe_text(each.name)}", name_width)
        head = ((style, f"{sign} "), ("name" if each.changed else "dim", name))
        line = _put_side_by_side(name_width + 2, head, _paint(left_value, style), _paint(right_value, style), width)
        node = each.right if each.left is None else each.left
        yield ComparedRow(line, (right if each.left is None else left).row, node)
    if not shown:
        yield ComparedRow((("dim", "  all fields are the same"),))


def _count_below(aligned: Sequence[AlignedField]) -> list[int]:
    """Returns how many fields are below each."""
    counts = [0] * len(aligned)
    around: list[int] = []
    for place, each in enumerate(aligned):
        while around and aligned[around[-1]].depth >= each.depth:
            around.pop()
        for outer in around:
            counts[outer] += 1
        around.append(place)
    return counts


def _format_value(node: Field, limits: Limits, aligned: AlignedField, below: int) -> Line:
    """Formats the value of a field; of a structure what names it, or how many fields it has."""
    shown = tuple(format_node(node, limits, aligned.hidden)[2:-1])
    if shown:
        return shown
    key = None if aligned.hidden else find_key(node)
    if key is not None:
        return (("value", f'"{safe_text(key.value)}"' if isinstance(key.value, str) else str(key.value)),)
    return (("value", format_counted(below, "field")),) if below else ()


def _paint(line: Line, style: str) -> Line:
    return tuple((style, text) for _, text in line) if style != "dim" else line


def _put_side_by_side(name_width: int, name: Line, left: Line, right: Line, width: int) -> Line:
    """Returns a name and two values as columns."""
    half = max((width - name_width - 2 * len(_GAP)) // 2, _FEWEST_CELLS)
    return (*_fit(name, name_width), ("", _GAP), *_fit(left, half), ("", _GAP), *_fit(right, half))


def _fit(line: Line, width: int) -> Line:
    """Returns a line that takes exactly so many cells."""
    parts: list[tuple[str, str]] = []
    left = width
    for style, text in line:
        cut = cut_end(text, left)
        parts.append((style, cut))
        left -= count_cells(cut)
        if cut != text or left <= 0:
            break
    return (*parts, ("", " " * max(left, 0)))


# ---- bytes


class _Side(NamedTuple):
    """The bytes of a source on one side, and the spans of fields that are not the same, with their styles."""

    rows: HexRows
    spans: Mapping[Span, str]


def _format_sources(
    left: ComparedMessage,
    right: ComparedMessage,
    aligned: Sequence[AlignedField],
    limits: Limits,
    width: int,
    *,
    shows_all: bool,
) -> Iterator[ComparedRow]:
    """Yields the bytes of both messages, and of what was decompressed or reassembled of them."""
    columns = (width - len(_GAP)) // 2
    spans = [_list_spans(aligned, is_left=is_left) for is_left in (True, False)]
    masks = [{} if limits.show_secrets else find_secret_spans(each.tree) for each in (left, right)]
    for one, other in zip_longest(left.tree.sources, right.tree.sources):
        sides = [
            None
            if each is None
            else _Side(HexRows.fit(each.data, mask.get(each.id, ()), columns), span.get(each.id, {}))
            for each, mask, span in zip((one, other), masks, spans, strict=True)
        ]
        names = dict.fromkeys(each.name for each in (one, other) if each is not None)
        yield ComparedRow((("title", f"bytes of {safe_text(' / '.join(names))}"),))
        yield from _format_bytes(sides, columns, shows_all=shows_all)


def _list_spans(aligned: Sequence[AlignedField], *, is_left: bool) -> dict[int, dict[Span, str]]:
    """Returns for each source of a side the bytes of fields that are not the same, with their styles."""
    found: dict[int, dict[Span, str]] = {}
    for each in aligned:
        node = each.left if is_left else each.right
        if node is not None and each.state is not FieldState.SAME:
            found.setdefault(node.source, {})[node.offset, node.offset + node.length] = SIGNS[each.state][1]
    return found


def _format_bytes(sides: Sequence[_Side | None], columns: int, *, shows_all: bool) -> Iterator[ComparedRow]:
    """Yields lines of bytes side by side; lines without a difference are counted unless `shows_all`."""
    width = min(side.rows.width for side in sides if side is not None)
    sides = [None if side is None else side._replace(rows=replace(side.rows, width=width)) for side in sides]
    lines, alike = max(side.rows.lines for side in sides if side is not None), 0
    for number in range(lines + 1):
        parts = [((), False) if side is None else _format_half(side, number) for side in sides]
        is_shown = number < lines and (shows_all or any(changed for _, changed in parts))
        if number < lines and not is_shown:
            alike += 1
            continue
        if alike:
            yield ComparedRow((("dim", f"  {format_counted(alike, 'line')} alike"),))
            alike = 0
        if number < lines:
            yield ComparedRow((*_fit(parts[0][0], columns), ("", _GAP), *parts[1][0]))


def _format_half(side: _Side, number: int) -> tuple[Line, bool]:
    """Returns a line of bytes of one side, and whether any of them is coloured."""
    rows = side.rows
    begin, end = number * rows.width, min((number + 1) * rows.width, len(rows.data))
    if begin >= len(rows.data):
        return (), False
    touched = {span: style for span, style in side.spans.items() if span[0] < end and span[1] > begin}
    return rows.make_line(number, None, touched), bool(touched)


# ---- streams


def compare_streams(
    session: Session, streams: tuple[int, int], rows: Ints, width: int, *, shows_all: bool
) -> list[ComparedRow]:
    """Compares the messages of two streams, in order. rows: the rows that count."""
    column = session.rows.column("stream")[rows]
    sides = [rows[column == stream][:MOST_MESSAGES] for stream in streams]
    left, right = ([dict(each) for each in read_cells(session, side)] for side in sides)
    kinds, other_kinds = ([(each["operation"], each["role"]) for each in cells] for cells in (left, right))
    matcher = SequenceMatcher(None, kinds, other_kinds, autojunk=False)
    lines: list[ComparedRow] = []
    counts = dict.fromkeys(FieldState, 0)
    for operation, begin, end, other_begin, other_end in matcher.get_opcodes():
        ones, others = left[begin:end], right[other_begin:other_end]
        pairs: Iterator[tuple[Any, Any]] = (
            zip(ones, others, strict=True)
            if operation == "equal"
            else iter([*((one, None) for one in ones), *((None, other) for other in others)])
        )
        for one, other in pairs:
            state = _compare_cells(one, other)
            counts[state] += 1
            if shows_all or state is not FieldState.SAME:
                lines.append(_format_pair(one, other, state, width))
    total = ", ".join(f"{count:,} {state.value}" for state, count in counts.items() if count)
    cut = f"; the first {MOST_MESSAGES:,} messages of each" if any(len(s) == MOST_MESSAGES for s in sides) else ""
    head = ComparedRow((("title", f"messages: {total or 'none'}{cut}"),))
    return [head, *lines] if lines else [head, ComparedRow((("dim", "  all messages are alike"),))]


def _compare_cells(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> FieldState:
    if left is None:
        return FieldState.ONLY_RIGHT
    if right is None:
        return FieldState.ONLY_LEFT
    is_same = all(left[key] == right[key] for key in ("version", "error", "info"))
    return FieldState.SAME if is_same else FieldState.CHANGED


def _format_pair(
    left: Mapping[str, Any] | None, right: Mapping[str, Any] | None, state: FieldState, width: int
) -> ComparedRow:
    sign, style = SIGNS[state]
    one, other = (
        ()
        if each is None
        else (("place", f"{each['number']} "), (style if style != "dim" else "", _format_message(each)))
        for each in (left, right)
    )
    rows = [each["number"] - 1 for each in (left, right) if each is not None]
    pair = (rows[0], rows[1]) if len(rows) > 1 else None
    return ComparedRow(_put_side_by_side(1, ((style, sign),), one, other, width), rows[0], None, pair)


def _format_message(cells: Mapping[str, Any]) -> str:
    arrow = "<" if cells["role"] == "response" else ">"
    return safe_text(f"{arrow} {cells['operation']}{_format_version(cells)} {cells['info']}")
