"""Decodes rows to values and trees, and adds the findings that the index has about each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from analyzer.columns.arrays import Bools, Ints, list_distinct
from analyzer.decode import raw
from analyzer.decode.content import find_dissector, list_pieces, read_contents, read_context, read_message
from analyzer.messages import defects, row_findings
from analyzer.messages.defects import UNREAD, UNREAD_SECRET
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector, State
from dissectors.field import Field, FieldSpec, Tree
from dissectors.finding import Finding

MakeTree = Callable[[Dissector, bytes, Context], Tree]

SHOWN_GAP = 1 << 20
"""Longest gap in bytes that a tree's source fills with zeros, so that the bytes after the gap can be dumped."""

LOST = FieldSpec("lost", "gap")


def decode_body(session: Analysis, row: int) -> Body:
    """Decodes a row to a Body, with all findings about the row."""
    dissector = find_dissector(session, row)
    if dissector is None:
        return raw.make_raw_body(session, row, read_message(session, row))
    (message,) = read_contents(session, np.array([row]))
    return add_row_findings(session, row, defects.decode_values(dissector, message, read_context(session, row)))


def decode_tree(session: Analysis, row: int, make: MakeTree = defects.decode_tree) -> Tree:
    """Decodes a row to an annotated tree; lost bytes are leaves. make: decodes the bytes instead of the dissector."""
    dissector = find_dissector(session, row)
    message = read_message(session, row)
    if dissector is None:
        tree = raw.make_raw_tree(session, row, message)
    else:
        tree = make(dissector, message, read_context(session, row))
        tree.findings[:] = [*list_row_findings(session, row), *_filter_findings(session, row, tree.findings)]
    _add_lost(session, row, tree)
    return tree


def add_row_findings(session: Analysis, row: int, body: Body, row_findings: Sequence[Finding] | None = None) -> Body:
    """Adds to a Body what the index finds about its row; row_findings: these findings, if already known."""
    known = list_row_findings(session, row) if row_findings is None else row_findings
    return body._replace(findings=(*known, *_filter_findings(session, row, body.findings)))


def list_row_findings(session: Analysis, row: int) -> list[Finding]:
    """Returns the findings about a row that the index shows, as far as the input has been read."""
    return list(row_findings.decode_findings(int(flag_row_findings(session, np.array([row]), late=session.ended)[0])))


def flag_row_findings(session: Analysis, rows: Ints, *, late: bool) -> Ints:
    """Returns the findings that the index shows about n rows, as bits (int64, n) of ROW_FINDINGS."""
    found = row_findings.flag_findings(session.rows, session.engine.streams, rows, late=late)
    left = np.flatnonzero(found & row_findings.LEFT)
    if len(left):
        found[left[flag_long_polls(session, rows[left])]] &= ~row_findings.LEFT
    return found


def flag_long_polls(session: Analysis, rows: Ints) -> Bools:
    """Returns which of n rows are requests that a server may hold; see Dissector.long_polls."""
    protocol, code = (session.rows.column(name)[rows] for name in ("protocol", "code"))
    found = np.zeros(len(rows), bool)
    for number in list_distinct(protocol).tolist():
        dissector = session.engine.dissector(number)
        if dissector is not None and dissector.long_polls:
            found |= (protocol == number) & np.isin(code, sorted(dissector.long_polls))
    return found


def _filter_findings(session: Analysis, row: int, findings: Sequence[Finding]) -> list[Finding]:
    """Removes malformed-body from a row with missing bytes, because the missing bytes are the cause."""
    if session.rows.cell("state", row) != State.PARTIAL:
        return list(findings)
    return [finding for finding in findings if finding.code != "malformed-body"]


def _add_lost(session: Analysis, row: int, tree: Tree) -> None:
    """Adds leaves for everything from the first lost byte on: gaps, and bytes that cannot be decoded without them.

    If the tree ends in a secret, these bytes are secret, too, because they may be more of it.
    """
    pieces = list_pieces(session, row)
    if all(at >= 0 for at, _, _ in pieces):
        return
    offset = len(tree.sources[0].data)
    parts = [tree.sources[0].data]
    unread = UNREAD_SECRET if tree.fields and tree.fields[-1].spec.secret else UNREAD
    for at, length, _ in pieces[next(index for index, (at, _, _) in enumerate(pieces) if at < 0) :]:
        data = None if at < 0 else session.source.store.read_bytes(at, length)
        tree.fields.append(Field(LOST if data is None else unread, data, offset, length))
        if sum(map(len, parts)) == offset and (data is not None or length <= SHOWN_GAP):
            parts.append(bytes(length) if data is None else data)
        offset += length
    tree.sources[0] = replace(tree.sources[0], data=b"".join(parts), declared=offset)
