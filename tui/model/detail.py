"""One message in full: its title and notes, its tree, its bytes, and the lines of the hex pane.

Theory. A MessageDetail is made in one step, so that another thread can make it when the message is long. A line of the
hex pane looks as in analyzer.render.hexdump: offset, two blanks, the bytes in hex with a wider gap in the middle, then
the same bytes as characters between bars. Only lines on the screen are made.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from analyzer.columns.text import safe_text
from analyzer.columns.values import format_iso_time
from analyzer.decode import fragments
from analyzer.decode.content import read_cell, read_header
from analyzer.decode.endpoints import name_stream
from analyzer.decode.jsonable import Limits
from analyzer.decode.masking import Span, find_secret_spans
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.packets import list_packets
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.decode.tls_facts import is_decrypted
from analyzer.insight.related import RelatedValues, relate_by_names
from analyzer.render.durations import format_duration
from analyzer.render.hexdump import format_hexdump_line
from analyzer.render.known_text import format_known
from analyzer.render.lines import Line
from analyzer.render.message_text import format_comments, format_row_place
from analyzer.render.tree_json import PrintedMessage
from analyzer.render.tree_text import format_finding, format_title
from analyzer.session import Session
from dissectors.field import Field, Source, Tree
from dissectors.name_binding import SessionContents
from tui.model.row_cells import StreamCells


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A range of bytes in a source of the message."""

    source: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class TreeNote:
    """A line of the tree pane that is no field; `place`: the bytes that it is about."""

    line: Line
    place: ByteRange | None = None
    children: tuple[TreeNote, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageDetail:
    """One message.

    masks: for each source the ascending spans to hide, none if secrets are shown. known: what other messages told about
    it by now. carriers: of a decrypted message its TLS records and packets, empty until somebody looks at them.
    """

    row: int
    title: Line
    notes: tuple[TreeNote, ...]
    tree: Tree
    masks: Mapping[int, list[Span]]
    partner: int | None
    known: RelatedValues
    carriers: tuple[Source, ...] = ()

    @property
    def sources(self) -> Sequence[Source]:
        """What the hex pane can show: the sources of the tree, then what carried the message."""
        return (*self.tree.sources, *self.carriers)

    def add_carriers(self, records: bytes, packets: bytes) -> MessageDetail:
        """Returns the same message with the bytes that carried it."""
        first = len(self.tree.sources)
        carriers = Source(first, "TLS records", records), Source(first + 1, "packets", packets)
        return replace(self, carriers=carriers)


def read_detail(
    session: Session,
    row: int,
    limits: Limits,
    resolver: NameResolver | None = None,
    session_contents: SessionContents | None = None,
) -> MessageDetail:
    """Decodes a row for the panes. Only reads the session, so any thread may call it.

    resolver: resolved names. session_contents: the state of its session (analyzer.insight.related), where known.
    """
    resolver = NameResolver(session) if resolver is None else resolver
    keys = [key for key in ROW_KEYS if key != "findings"]
    (cells,) = RowReader(session).read_objects(
        keys, np.array([row]), TopicNamer(session, resolver=resolver).fill_in_names
    )
    tree = fragments.decode_tree_with_message(session, row)
    known = relate_by_names(resolver, row, tree, session_contents)
    error = cells["error"]
    message = PrintedMessage(
        cells["protocol"], read_header(session, row), error and (error["code"], error["name"]), cells["info"]
    )
    packets, hosts = list_packets(session, row), session.hosts
    ends = hosts.annotate_endpoint(cells["source"]), hosts.annotate_endpoint(cells["destination"])
    about, *more = (
        *format_row_place(cells, packets, ends=ends),
        *format_known(known),
    )
    notes = [TreeNote(about, ByteRange(0, 0, tree.sources[0].length), tuple(map(TreeNote, more)))]
    notes += map(TreeNote, format_comments(session.comments.read_message(packets)))
    for finding in tree.findings:
        place = None if finding.offset is None else ByteRange(finding.source, finding.offset, finding.length or 0)
        notes.append(TreeNote(format_finding(finding), place))
    masks = {} if limits.show_secrets else find_secret_spans(tree)
    partner = read_cell(session, "partner", row)
    title = format_title(message, tree.sources[0].length)
    detail = MessageDetail(row, title, tuple(notes), tree, masks, partner, known)
    return detail.add_carriers(b"", b"") if is_decrypted(session, row) else detail


def find_range(what: Field | TreeNote) -> ByteRange | None:
    """Returns the bytes of a line of the tree pane."""
    return ByteRange(what.source, what.offset, what.length) if isinstance(what, Field) else what.place


def join_path(names: Sequence[str]) -> str:
    """Joins names of nodes to a path: `body.responses[0].partitions`."""
    return "".join(name if not index or name.startswith("[") else f".{name}" for index, name in enumerate(names))


def find_fields(tree: Tree, source: int, offset: int) -> list[Field]:
    """Returns the fields around a byte, from the outermost to the innermost.

    For a derived source the fields of the outer source come first.
    """
    path: list[Field] = []
    nodes = tree.fields
    origin = next((each.parent for each in tree.sources if each.id == source), None)
    for index in origin or ():
        path.append(nodes[index])
        nodes = nodes[index].children
    while (found := _find_around(nodes, source, offset)) is not None:
        path.append(found)
        nodes = found.children
    return path


def _find_around(nodes: list[Field], source: int, offset: int) -> Field | None:
    for node in nodes:
        if node.source == source and node.offset <= offset < node.offset + node.length and node.bits is None:
            return node
    return None


def make_stream_notes(session: Session, cells: StreamCells) -> tuple[TreeNote, ...]:
    """Returns the notes of a selected stream."""
    begin = format_iso_time(session.engine.streams.cell("begin", cells.number))
    texts = {
        "id": name_stream(session, cells.number),
        "protocol": cells.protocol,
        "client": cells.client,
        "server": cells.server,
        "messages": f"{cells.messages:,}",
        "packets": f"{cells.packets:,}",
        "first packet": begin,
        "lasts": format_duration(cells.duration),
    }
    return tuple(TreeNote((("name", name), ("", f": {safe_text(text)}"))) for name, text in texts.items())


WIDTHS = (16, 8, 4, 2, 1)
"""Possible numbers of bytes on a line, the largest first."""

GAP_AFTER = 8
"""The number of bytes before the wider gap."""


@dataclass(frozen=True, slots=True)
class HexRows:
    """The lines of a source: `width` bytes each, offsets in `digits` digits; masks are disjoint and ascending."""

    data: bytes
    masks: Sequence[Span]
    width: int
    digits: int

    @classmethod
    def fit(cls, data: bytes, masks: Iterable[Span], columns: int) -> HexRows:
        """Chooses as many bytes for a line as `columns` cells hold."""
        digits = max(4, len(f"{max(len(data) - 1, 0):x}"))
        width = next((width for width in WIDTHS if _count_columns(width, digits) <= columns), WIDTHS[-1])
        return cls(data, _merge_spans(masks), width, digits)

    @property
    def lines(self) -> int:
        """The number of lines of the hex dump, at its current width."""
        return -(-len(self.data) // self.width)

    def make_line(
        self, number: int, highlight: Span | None, changed: Mapping[Span, str] = MappingProxyType({})
    ) -> Line:
        """Returns a line, with a span of bytes highlighted. changed: spans with a style of their own."""
        at = number * self.width
        end = at + self.width
        first = bisect_right(self.masks, at, key=lambda span: span[1])
        masks = self.masks[first : bisect_left(self.masks, end, key=lambda span: span[0])]
        return format_hexdump_line(at, self.data[at:end], masks, highlight, self.width, self.digits, changed)

    def find_columns(self, index: int) -> tuple[int, int]:
        """Returns the cells of byte `index` of a line: the first of its two hex cells, and its character's cell."""
        return self.digits + 2 + _count_hex_cells(index), self._text + index

    def find_byte(self, line: int, column: int) -> int | None:
        """Returns the offset of the byte under a cell, or None."""
        for index in range(self.width):
            first, text = self.find_columns(index)
            if column in (first, first + 1, text):
                at = line * self.width + index
                return at if at < len(self.data) else None
        return None

    @property
    def _text(self) -> int:
        return self.digits + 2 + _count_hex_cells(self.width) + 2


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merges spans that touch, in order, so that the spans of a line can be found by bisection."""
    found: list[Span] = []
    for first, end in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((first, end))
    return found


def _count_hex_cells(count: int) -> int:
    """Returns the cells of `count` bytes in hex, each with a blank behind it."""
    return 3 * count + (count >= GAP_AFTER)


def _count_columns(width: int, digits: int) -> int:
    return digits + 2 + _count_hex_cells(width) + 2 + width + 1
