"""One message of a session as `show` prints it: where it stands, what is known of it, its tree and its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analyzer.decode import fragments
from analyzer.decode.content import read_header
from analyzer.decode.limits import Limits
from analyzer.decode.packets import list_packets
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import ROW_KEYS, Rows
from analyzer.insight.related import known_of
from analyzer.render.known_text import known_lines
from analyzer.render.lines import Line
from analyzer.render.message_text import EMPTY, about_row, message_lines
from analyzer.render.tree_json import Message
from analyzer.session import Session
from dissectors.api import MessageHeader


def shown_lines(session: Session, row: int, limits: Limits) -> Iterator[Line]:
    """All lines of a row, with names in the place of ids."""
    (cells,) = Rows(session).objects(ROW_KEYS, np.array([row]), Naming(session).named)
    tree, packets = fragments.tree(session, row), list_packets(session, row)
    ends = session.hosts.annotate_endpoint(cells["source"]), session.hosts.annotate_endpoint(cells["destination"])
    yield from about_row(cells, packets, session.comments.read_message(packets), ends)
    yield from known_lines(known_of(session, row, tree))
    yield EMPTY
    yield from message_lines(said_of(read_header(session, row), cells), tree, limits)


def said_of(header: MessageHeader, cells: Mapping[str, Any]) -> Message:
    """What is said of a message beside its tree; cells: its ROW_KEYS."""
    error = cells["error"]
    return Message(cells["protocol"], header, None if error is None else (error["code"], error["name"]), cells["info"])
