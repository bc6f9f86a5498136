"""Formats bytes like hexdump -C, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from analyzer.decode.masking import Span
from analyzer.render.lines import Line

WIDTH = 16


def format_hexdump(
    data: bytes, masks: Sequence[Span] = (), highlight: Span | None = None, limit: int | None = None
) -> Iterator[Line]:
    """Formats bytes in lines of 16 (offset, hex, text); `masks` are `**`; at most `limit` bytes."""
    shown = len(data) if limit is None else min(limit, len(data))
    for at in range(0, shown, WIDTH):
        yield format_hexdump_line(at, data[at : min(at + WIDTH, shown)], masks, highlight)
    if shown < len(data):
        yield (("note", f"and {len(data) - shown:,} more bytes of {len(data):,}"),)


def format_hexdump_line(
    at: int,
    row: bytes,
    masks: Sequence[Span],
    highlight: Span | None,
    width: int = WIDTH,
    digits: int = 8,
    changed: Mapping[Span, str] = MappingProxyType({}),
) -> Line:
    """Formats the bytes `row` as one line of a dump, padded to `width` bytes; `at` is their offset.

    changed: spans with a style of their own.
    """
    return _format_line(at, row, _choose_styles(at, len(row), masks, highlight, changed), width, digits)


def _choose_styles(
    at: int, count: int, masks: Sequence[Span], highlight: Span | None, changed: Mapping[Span, str]
) -> list[str]:
    styles = [""] * count
    for span, style in changed.items():
        _paint(styles, at, span, style)
    if highlight is not None:
        _paint(styles, at, highlight, "highlight")
    for span in masks:
        _paint(styles, at, span, "masked")
    return styles


def _paint(styles: list[str], at: int, span: Span, style: str) -> None:
    for index in range(max(span[0] - at, 0), min(span[1] - at, len(styles))):
        styles[index] = style


def _format_line(at: int, row: bytes, styles: list[str], width: int, digits: int) -> Line:
    cells: list[tuple[str, str]] = []
    texts: list[tuple[str, str]] = []
    for index, (byte, style) in enumerate(zip(row, styles, strict=True)):
        secret = style == "masked"
        cells.append((style, "**" if secret else f"{byte:02x}"))
        cells.append(
            (
                "" if index + 1 >= len(row) else _choose_joint_style(style, styles[index + 1]),
                "  " if index == 7 else " ",
            )
        )
        texts.append((style, "*" if secret else chr(byte) if 0x20 <= byte < 0x7F else "."))
    padding = " " * (3 * (width - len(row)) + (len(row) < 8 <= width))
    return _merge_spans([("place", f"{at:0{digits}x}  "), *cells, ("", padding + " |"), *texts, ("", "|")])


def _choose_joint_style(left: str, right: str) -> str:
    """Returns the style of the space between two bytes."""
    return left if left == right else ""


def _merge_spans(spans: list[tuple[str, str]]) -> Line:
    return tuple((style, "".join(text for _, text in run)) for style, run in groupby(spans, key=lambda span: span[0]))
