"""Rows for people: a line of columns, wide enough for most, and the line of information at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analyzer.render.delimited import delimited_lines
from analyzer.render.jsonable import JsonWriter
from analyzer.text import safe_text

TABLE_KEYS: Sequence[str] = (
    *("number", "time", "stream", "source", "destination", "protocol", "role", "operation", "version", "length"),
    *("latency_ns", "state", "error", "info", "findings"),
)
"""What the table is made of; state, error, info and findings share its last column."""

HEAD = ("No.", "Time", "Str", "Source", "Destination", "Protocol", "Operation", "V", "Length", "Latency", "Info")
WIDTHS = (6, 18, 3, 21, 21, 9, 31, 2, 7, 9, 0)
RIGHT = frozenset({0, 2, 7, 8, 9})
ARROWS = {"request": ">", "response": "<", "oneway": ">", "push": "<", "raw": " "}
_US, _MS, _S = 10**3, 10**6, 10**9


def table_head(keys: Sequence[str], aligned: bool) -> bytes:
    """The names of the columns; of chosen keys, their own."""
    return (_row(HEAD) if aligned else "\t".join(keys)).encode() + b"\n"


def table_lines(keys: Sequence[str], columns: list[list[Any]], json: JsonWriter, aligned: bool) -> bytes:
    """Rows as lines; columns of chosen keys are separated by tabs."""
    if not aligned or list(keys[: len(TABLE_KEYS)]) != list(TABLE_KEYS):
        return delimited_lines(columns, "\t", json)
    return "".join([_line(row, json) for row in zip(*columns, strict=True)]).encode()


def _line(row: Sequence[Any], json: JsonWriter) -> str:
    number, time, stream, source, destination, protocol, role, operation, version, length = row[:10]
    latency, state, error, info, findings, *fields = row[10:]
    what = f"{ARROWS[role]} {operation if operation is not None else role if role == 'raw' else '?'}"
    parts = [f"[{error['name']}]"] if error and error["name"] not in (info or "") else []
    parts += [state] if state != "complete" and role != "raw" else []
    parts += [info] if info else []
    parts += [f"({finding['code']})" for finding in findings]
    parts += [json.dumps(value).decode() for value in fields]
    cells = (
        number,
        time[11:29],
        stream,
        source,
        destination,
        protocol,
        what,
        version,
        length,
        duration(latency),
        " ".join(parts),
    )
    return _row(cells) + "\n"


def _row(cells: Sequence[Any]) -> str:
    texts = ["" if cell is None else safe_text(str(cell)) for cell in cells]
    padded = [
        text.rjust(width) if index in RIGHT else text.ljust(width)
        for index, (text, width) in enumerate(zip(texts, WIDTHS, strict=True))
    ]
    return " ".join(padded).rstrip()


def duration(nanoseconds: int | None) -> str:
    """`380ns`, `4.2us`, `12.3ms`, `1.50s`; nothing for None."""
    if nanoseconds is None:
        return ""
    size = abs(nanoseconds)
    if size < _US:
        return f"{nanoseconds}ns"
    for unit, name in ((_US, "us"), (_MS, "ms")):
        if size < 1000 * unit:
            return f"{nanoseconds / unit:.3g}{name}"
    return f"{nanoseconds / _S:.2f}s"
