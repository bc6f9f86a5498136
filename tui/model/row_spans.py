"""The look of a row in the list: aligned columns, and which of them give way in a narrow list.

Theory. A line costs as much as it has pieces, so neighbours of one style are one piece. A colour rule paints the
operation and the info of a row and leaves the numbers alone. A rule with a background paints the whole line, except on
the cursor's line, where the cursor must be visible: there only the rule's sign shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analyzer.columns.text import safe_text
from analyzer.render.durations import format_duration
from analyzer.render.table import ARROWS
from dissectors.slotted import make_slotted
from tui.model.drawing import cut_text
from tui.model.row_cells import RowCells
from tui.model.times import REFERENCE, TimeWidth

if TYPE_CHECKING:
    pass


Span = tuple[str, str]

SIGNS = {"!": "error", "*": "warning", "%": "warning", "?": "warning", " ": ""}

PARTNER, MARKED, BOTH, PEEKED = "◂", "●", "◆", "○"

SIGN_HELP = (
    ("!", "an error that the message reports, or one in reading it"),
    ("*", "a warning, in brackets at the end of the line"),
    ("%", "bytes of it are missing"),
    ("?", "not certain: no request, or a newer version"),
    (">  <", "request and response"),
    (PARTNER, "the partner of the selected message"),
    (f"{MARKED}  {BOTH}", "marked with m; marked, and the partner"),
    (PEEKED, "a partner that the filter hides, shown because p went to it"),
    ("~ r k ...", "in the third column: the colour rule of the row, slow, retransmitted, a protocol, or one of yours"),
    (REFERENCE, "a time reference: relative times behind it count from it"),
)

OPERATION, SHORT_OPERATION = 24, 16
LATENCY = 7
SIGN_CELLS = 3
"""The cells of signs: state, partner or mark, and colour rule."""


class RowContext(NamedTuple):
    """The properties of a row that its line shows beyond its cells.

    referred: the row is a time reference. rule: style and sign of its colour rule. peeked: the filter hides the
    row, but it is shown as a partner.
    """

    time: str
    partner: bool = False
    marked: bool = False
    referred: bool = False
    ignored: bool = False
    rule: tuple[str, str] | None = None
    peeked: bool = False

    @property
    def mark(self) -> str:
        """The second sign: partner, mark, or both."""
        if self.peeked and not self.partner:
            return PEEKED
        if self.partner:
            return BOTH if self.marked else PARTNER
        return MARKED if self.marked else " "


@make_slotted
class StandardColumns:
    """The widths of the standard columns in cells; 0 hides a column."""

    number: int
    time: TimeWidth
    stream: int
    operation: int
    version: int
    length: int

    @classmethod
    def fit(cls, width: int, rows: int, time: TimeWidth, *, streams: int = 0) -> StandardColumns:
        """Chooses the columns that fit into `width`, for row numbers up to `rows`.

        streams: their number if they have a column.
        """
        return cls(
            number=max(4, len(str(rows))),
            time=time,
            stream=max(3, len(str(streams))) if streams and width >= 44 else 0,
            operation=OPERATION if width >= 103 else SHORT_OPERATION,
            version=3 if width >= 60 else 0,
            length=8 if width >= 115 else 0,
        )

    @property
    def names(self) -> list[str]:
        """The names of the visible columns, from which the user's own changes begin; the time is always among them."""
        names = [name for name, _ in self.make_titles()]
        return names if "time" in names else [names[0], "time", *names[1:]]

    def make_head(self) -> str:
        """Returns the titles of the columns."""
        return join_titles(self.make_titles())

    def make_titles(self) -> list[tuple[str, str]]:
        """Returns the names of the visible columns, each with its title as wide as the column."""
        cells = [
            ("number", "No.".rjust(self.number), True),
            ("time", "Time".ljust(self.time.cells), self.time.cells),
            ("stream", "Str".rjust(self.stream), self.stream),
            ("operation", "  " + "Operation".ljust(self.operation), True),
            ("version", "V".rjust(self.version), self.version),
            ("length", "Length".rjust(self.length), self.length),
            ("latency", "Latency".rjust(LATENCY), True),
            ("info", "Info", True),
        ]
        return [(name, text) for name, text, shown in cells if shown]


def join_titles(titles: Sequence[tuple[str, str]]) -> str:
    """Returns the titles of columns as one line."""
    return " " * (SIGN_CELLS - 1) + " ".join(text for _, text in titles)


def make_row_spans(row: RowCells, columns: StandardColumns, look: RowContext) -> list[Span]:
    """Returns the line of a message."""
    words = look.rule[0] if look.rule else ""
    number = f"{row.number:>{columns.number}} "
    metrics = f"{look.time} " if columns.time.cells else ""
    if columns.stream:
        metrics += f"{row.stream:>{columns.stream}} "
    metrics += f"{ARROWS[row.role]} "
    sizes = ""
    if columns.version:
        sizes = f"{'' if row.version is None else f'v{row.version}':>{columns.version}} "
    if columns.length:
        sizes += f"{row.length:>{columns.length}} "
    spans = [*make_signs(row, look)]
    if look.partner:
        spans += [("partner", number), ("dim", metrics)]
    else:
        spans.append(("dim", number + metrics))
    spans.append(
        (words or choose_style(row), cut_text(safe_text(name_operation(row), OPERATION + 1), columns.operation) + " ")
    )
    latency = f"{format_duration(row.latency):>{LATENCY}} "
    if row.latency is None or row.role == "request":
        spans.append(("dim", sizes + latency))
    else:
        spans += [("dim", sizes), ("text", latency)]
    if look.referred and not columns.time.cells:
        spans.append(("partner", f"{REFERENCE} "))
    spans += make_info_spans(row, look)
    return spans


def make_signs(row: RowCells, look: RowContext) -> Iterator[Span]:
    """Yields the signs before a row."""
    sign, mark = " " if look.ignored else row.sign, look.mark
    if sign == mark == " " and look.rule is None:
        yield "dim", " " * SIGN_CELLS
    else:
        yield SIGNS[sign], sign
        yield "partner", mark
        yield look.rule if look.rule and look.rule[1] != sign else ("", " ")


def name_operation(row: RowCells) -> str:
    """Returns the name of a row's operation."""
    return row.operation or (row.protocol if row.role == "raw" else "unknown")


def choose_style(row: RowCells) -> str:
    """Returns the style of a row's operation without a rule."""
    return "response" if row.role in ("response", "push") else "request"


def make_info_spans(row: RowCells, look: RowContext) -> list[Span]:
    """Returns error, state, info and findings, as in `list`."""
    if look.ignored:
        return [("dim", "ignored")]
    if row.body is None:
        return [("dim", f"{row.length:,} bytes, not decoded yet")]
    decoded = row.body
    words = look.rule[0] if look.rule else ""
    spans: list[Span] = []
    if decoded.error and decoded.error not in decoded.info:
        spans.append(("error", f"[{decoded.error}] "))
    if row.state != "complete" and row.role != "raw":
        spans.append(("warning", f"{row.state} "))
    if decoded.info:
        spans.append(
            ("error" if decoded.error and decoded.error in decoded.info else words or "value", f"{decoded.info} ")
        )
    spans += [(severity, f"({code}) ") for severity, code in decoded.findings]
    return spans


def cover_spans(spans: Sequence[Span], style: str) -> list[Span]:
    """Paints a whole line in a style."""
    return [(style, "".join(text for _, text in spans))]
