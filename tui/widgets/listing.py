"""How a row and a stream look in the left pane: columns that stay aligned, and what gives way where it is narrow."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.render.durations import duration
from analyzer.render.table import ARROWS
from analyzer.text import safe_text
from tui.model.cells import RowCells, StreamCells
from tui.widgets.paint import cut

Span = tuple[str, str]

SIGNS = {"!": "error", "*": "warning", "%": "warning", "?": "warning", " ": ""}

SIGN_HELP = (
    ("!", "an error that the message reports, or one in reading it"),
    ("*", "a warning, told in brackets at the end of the line"),
    ("%", "bytes of it are missing"),
    ("?", "not certain: no request, or a newer version"),
    (">  <", "request and response"),
    ("◂", "the partner of the selected message"),
)

OPERATION, SHORT_OPERATION = 24, 16
LATENCY = 7
TIME, SHORT_TIME = 15, 12


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells; 0 hides a column."""

    number: int
    time: int
    stream: int
    operation: int
    version: int
    length: int

    @classmethod
    def fitting(cls, width: int, rows: int, *, streams: int = 0) -> Columns:
        """What fits into `width` for row numbers up to `rows`; `streams`: how many there are, if their column is
        wanted.
        """
        return cls(
            number=max(4, len(str(rows))),
            time=TIME if width >= 90 else SHORT_TIME if width >= 64 else 0,
            stream=max(3, len(str(streams))) if streams and width >= 44 else 0,
            operation=OPERATION if width >= 80 else SHORT_OPERATION,
            version=3 if width >= 60 else 0,
            length=8 if width >= 100 else 0,
        )

    def head(self) -> str:
        """The names of the columns."""
        cells = [
            ("No.".rjust(self.number), True),
            ("Time".ljust(self.time), self.time),
            ("Str".rjust(self.stream), self.stream),
            ("  " + "Operation".ljust(self.operation), True),
            ("V".rjust(self.version), self.version),
            ("Length".rjust(self.length), self.length),
            ("Latency".rjust(LATENCY), True),
            ("Info", True),
        ]
        return "  " + " ".join(text for text, shown in cells if shown)


def row_spans(row: RowCells, columns: Columns, *, partner: bool) -> list[Span]:
    """One message's line; `partner`: it is the partner of the selected one."""
    body = "response" if row.role in ("response", "push") else "request"
    operation = row.operation or (row.protocol if row.role == "raw" else "unknown")
    spans: list[Span] = [(SIGNS[row.sign], row.sign), ("partner", "◂" if partner else " ")]
    spans.append(("partner" if partner else "dim", f"{row.number:>{columns.number}} "))
    if columns.time:
        spans.append(("dim", f"{row.time[11 : 11 + columns.time]} "))
    if columns.stream:
        spans.append(("dim", f"{row.stream:>{columns.stream}} "))
    spans += [
        ("dim", f"{ARROWS[row.role]} "),
        (body, cut(safe_text(operation, OPERATION + 1), columns.operation) + " "),
    ]
    if columns.version:
        version = "" if row.version is None else f"v{row.version}"
        spans.append(("dim", f"{version:>{columns.version}} "))
    if columns.length:
        spans.append(("dim", f"{row.length:>{columns.length}} "))
    spans.append(("text" if row.latency is not None else "dim", f"{duration(row.latency):>{LATENCY}} "))
    return spans + _said(row)


def _said(row: RowCells) -> list[Span]:
    """Error, state, the line for people, findings: as `list` has them."""
    if row.said is None:
        return [("dim", f"{row.length:,} bytes, not decoded yet")]
    spans: list[Span] = []
    if row.said.error and row.said.error not in row.said.info:
        spans.append(("error", f"[{row.said.error}] "))
    if row.state != "complete" and row.role != "raw":
        spans.append(("warning", f"{row.state} "))
    if row.said.info:
        spans.append(("error" if row.said.error and row.said.error in row.said.info else "value", f"{row.said.info} "))
    spans += [(severity, f"({code}) ") for severity, code in row.said.findings]
    return spans


def stream_spans(stream: StreamCells, digits: int, *, opened: bool) -> list[Span]:
    """A stream's own line; its number takes `digits` cells."""
    mark = " " if not stream.messages else "▾" if opened else "▸"
    style = "value" if stream.messages else "dim"
    messages = "1 message" if stream.messages == 1 else f"{stream.messages:,} messages"
    if stream.kept is not None:
        messages = f"{stream.kept:,} of {messages}"
    return [
        ("name", f"{mark} "),
        (style, f"{stream.number:>{digits}} {stream.client} > {stream.server}"),
        ("dim", f"  {stream.protocol}, {messages}, {duration(stream.duration)}"),
    ]
