"""Formats one message of a session as `show` prints it: position, related facts, tree and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analyzer.decode import fragments
from analyzer.decode.content import read_header
from analyzer.decode.limits import Limits
from analyzer.decode.packets import list_packets
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.insight.related import relate_row
from analyzer.insight.tls import describe_row_tls
from analyzer.render.known_text import format_known
from analyzer.render.lines import Line
from analyzer.render.message_text import EMPTY, format_message, format_row_place
from analyzer.render.properties_text import format_tls
from analyzer.render.tree_json import PrintedMessage
from analyzer.session import Session
from dissectors.api import MessageHeader


def format_row(session: Session, row: int, limits: Limits) -> Iterator[Line]:
    """Yields all lines of a row, with names in place of ids."""
    (cells,) = RowReader(session).read_objects(ROW_KEYS, np.array([row]), TopicNamer(session).fill_in_names)
    tree, packets = fragments.decode_tree_with_message(session, row), list_packets(session, row)
    ends = session.hosts.annotate_endpoint(cells["source"]), session.hosts.annotate_endpoint(cells["destination"])
    yield from format_row_place(cells, packets, session.comments.read_message(packets), ends)
    yield from format_known(relate_row(session, row, tree))
    yield from format_tls(describe_row_tls(session, row))
    yield EMPTY
    yield from format_message(describe_row(read_header(session, row), cells), tree, limits)


def describe_row(header: MessageHeader, cells: Mapping[str, Any]) -> PrintedMessage:
    """Returns the values of a message beside its tree; cells: its ROW_KEYS."""
    error = cells["error"]
    return PrintedMessage(
        cells["protocol"], header, None if error is None else (error["code"], error["name"]), cells["info"]
    )
