"""All that is shown of one message: where it stands, what is to be said of it, its tree, its bytes.

Made in one go, so that it can be made by another thread when the message is long, and shown when it is whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.columns.text import safe_text
from analyzer.columns.values import format_iso_time
from analyzer.decode import fragments
from analyzer.decode.content import read_cell, read_header
from analyzer.decode.endpoints import name_stream
from analyzer.decode.jsonable import Limits
from analyzer.decode.masking import Span, secret_spans
from analyzer.decode.name_resolver import Lore
from analyzer.decode.packets import list_packets
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import ROW_KEYS, Rows
from analyzer.insight.related import Known, known_by
from analyzer.render.durations import duration
from analyzer.render.known_text import known_lines
from analyzer.render.lines import Line
from analyzer.render.message_text import about_row
from analyzer.render.tree_json import Message
from analyzer.render.tree_text import finding_line, title
from analyzer.session import Session
from dissectors.field import Field, Tree
from dissectors.name_binding import Standing
from tui.model.cells import StreamCells


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes in a source of the message."""

    source: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the tree pane that is no field. `place`: the bytes that it speaks of."""

    line: Line
    place: Place | None = None
    children: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Detail:
    """One message. `masks`: for each source the spans to hide, in order, none where secrets are asked for.

    known: what other messages told of it by the time it was read; its notes and its tree say it.
    """

    row: int
    title: Line
    notes: tuple[Note, ...]
    tree: Tree
    masks: Mapping[int, list[Span]]
    partner: int | None
    known: Known


def read_detail(
    session: Session, row: int, limits: Limits, lore: Lore | None = None, standing: Standing | None = None
) -> Detail:
    """Decodes a row. `partner` is a row, None for none. Reads the session only; any thread may do it.

    lore: the names that have been learned. standing: what its session holds (analyzer.insight.related), where known.
    """
    lore = Lore(session) if lore is None else lore
    keys = [key for key in ROW_KEYS if key != "findings"]
    (cells,) = Rows(session).objects(keys, np.array([row]), Naming(session, lore=lore).named)
    tree = fragments.tree(session, row)
    known = known_by(lore, row, tree, standing)
    error = cells["error"]
    message = Message(
        cells["protocol"], read_header(session, row), error and (error["code"], error["name"]), cells["info"]
    )
    packets, hosts = list_packets(session, row), session.hosts
    ends = hosts.annotate_endpoint(cells["source"]), hosts.annotate_endpoint(cells["destination"])
    about, *more = (*about_row(cells, packets, session.comments.read_message(packets), ends), *known_lines(known))
    notes = [Note(about, Place(0, 0, tree.sources[0].length), tuple(map(Note, more)))]
    for finding in tree.findings:
        place = None if finding.offset is None else Place(finding.source, finding.offset, finding.length or 0)
        notes.append(Note(finding_line(finding), place))
    masks = {} if limits.show_secrets else secret_spans(tree)
    partner = read_cell(session, "partner", row)
    return Detail(row, title(message, tree.sources[0].length), tuple(notes), tree, masks, partner, known)


def place_of(what: Field | Note) -> Place | None:
    """The bytes of a line of the tree pane."""
    return Place(what.source, what.offset, what.length) if isinstance(what, Field) else what.place


def field_path(names: Sequence[str]) -> str:
    """`body.responses[0].partitions`."""
    return "".join(name if not index or name.startswith("[") else f".{name}" for index, name in enumerate(names))


def fields_at(tree: Tree, source: int, offset: int) -> list[Field]:
    """The fields around a byte, from the outermost to the innermost; none where the tree does not say.

    Fields of the source itself only, behind those of the outer source that it was made from.
    """
    path: list[Field] = []
    nodes = tree.fields
    origin = next((each.parent for each in tree.sources if each.id == source), None)
    for index in origin or ():
        path.append(nodes[index])
        nodes = nodes[index].children
    while (found := _around(nodes, source, offset)) is not None:
        path.append(found)
        nodes = found.children
    return path


def _around(nodes: list[Field], source: int, offset: int) -> Field | None:
    for node in nodes:
        if node.source == source and node.offset <= offset < node.offset + node.length and node.bits is None:
            return node
    return None


def stream_notes(session: Session, cells: StreamCells) -> tuple[Note, ...]:
    """What is said of a stream that is selected itself."""
    begin = format_iso_time(session.engine.streams.cell("begin", cells.number))
    said = {
        "id": name_stream(session, cells.number),
        "protocol": cells.protocol,
        "client": cells.client,
        "server": cells.server,
        "messages": f"{cells.messages:,}",
        "packets": f"{cells.packets:,}",
        "first packet": begin,
        "lasts": duration(cells.duration),
    }
    return tuple(Note((("name", name), ("", f": {safe_text(text)}"))) for name, text in said.items())
