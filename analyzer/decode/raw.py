"""Makes the values, the line and the tree of rows of bytes that no dissector framed.

Theory. The only value of such a row is its bytes. If its first bytes show a foreign protocol, and one of ours was
expected there (by the server's port or by the connection), this is a finding of the row. On any other port it appears
only in the line. The preamble of a proxy is always a finding. A protocol may recognise more in the bytes
(dissectors.raw); this appears only in the line and the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from analyzer.columns.arrays import Ints
from analyzer.decode.endpoints import find_server_port
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT, NO_PROTOCOL
from analyzer.session import Analysis
from dissectors import registry
from dissectors.api import Body, Window
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity
from dissectors.foreign import foreign
from dissectors.raw import RawReader, RawRun

_T = TypeVar("_T")

_DATA = FieldSpec("data", "bytes")


WRONG = "wrong-protocol"

_PREFIX = 64
"""Number of bytes that are enough to recognise a foreign protocol."""


def make_raw_body(session: Analysis, row: int, message: bytes | Window) -> Body:
    """Returns the bytes, and a finding if a foreign protocol is recognised."""
    data = defects.read_whole(message)
    return Body({"data": data}, None, tuple(_find_foreign(session, row, data, len(data))))


def format_raw_info(session: Analysis, row: int, message: bytes | Window, body: Body) -> str:
    """Formats the summary line of raw bytes: their number, and their protocol if known. body: their Body."""
    data = defects.read_whole(message)
    known, other = find_nested_info(session, row, data), foreign(data[:_PREFIX])
    texts = [finding.text for finding in body.findings[:1] if finding.code != WRONG]
    texts += [other.text] if other is not None and not texts else []
    texts += [] if known is None else [known]
    return f"{len(message)} bytes, {'; '.join(texts) or 'no protocol of ours'}"


def find_nested_info(session: Analysis, row: int, message: bytes) -> str | None:
    """Returns the line of the first protocol that recognises unframed bytes; None if none does."""
    return _ask_readers(session, row, message, lambda reader, run: reader.line(run))


def make_raw_tree(session: Analysis, row: int, message: bytes) -> Tree:
    """Makes the tree of raw bytes: one leaf, or the nodes of a protocol that recognises them."""
    found = _ask_readers(session, row, message, lambda reader, run: reader.tree(run))
    if found is None:
        found = Tree([Field(_DATA, message, 0, len(message))], [Source(0, "message", message)], [])
    found.findings[:0] = _find_foreign(session, row, message, len(message))
    return found


def collect_raw_findings(session: Analysis, rows: Ints) -> Iterator[Finding]:
    """Yields the findings of raw rows, from their first bytes alone."""
    for row in rows[session.rows.column("protocol")[rows] == NO_PROTOCOL].tolist():
        yield from _find_foreign(session, row, read_beginning(session, row), session.rows.cell("length", row))


def read_beginning(session: Analysis, row: int) -> bytes:
    """Returns the first bytes of a row."""
    at, length = (session.engine.pieces.cell(name, session.rows.cell("pieces", row)) for name in ("at", "length"))
    return b"" if at < 0 else session.source.store.read_bytes(at, min(length, _PREFIX))


def _find_foreign(session: Analysis, row: int, prefix: bytes, length: int) -> Iterator[Finding]:
    other = foreign(prefix[:_PREFIX])
    if other is None:
        return
    if other.preamble:
        yield Finding(Severity.NOTE, "proxy-preamble", other.text, 0, 0, length)
    elif (where := _find_expectation(session, row)) is not None:
        yield Finding(Severity.NOTE, WRONG, f"{other.text}, {where}; {other.advice}", 0, 0, length)


def _find_expectation(session: Analysis, row: int) -> str | None:
    """Returns why a protocol of ours is expected in a row; None if none is."""
    stream = session.rows.cell("stream", row)
    port_dissector = session.engine.dissector(session.engine.streams.cell("protocol", stream))
    if port_dissector is not None:
        return f"in a connection of {port_dissector.name}"
    port = find_server_port(session, stream)
    usual = session.engine.known.by_port(port)
    return None if usual is None else f"on port {port}, which usually is that of {usual.name}"


def _ask_readers(
    session: Analysis, row: int, message: bytes | Window, ask: Callable[[RawReader, RawRun], _T | None]
) -> _T | None:
    """Returns the first result of a raw reader that is not None; None if there is none."""
    run = _make_run(session, row, defects.read_whole(message))
    for reader in registry.raw_readers():
        found = defects.call_or_default(lambda reader=reader: ask(reader, run), None)  # type: ignore[misc]
        if found is not None:
            return found
    return None


def _make_run(session: Analysis, row: int, data: bytes) -> RawRun:
    stream, side = session.rows.cell("stream", row), session.rows.cell("side", row)
    cell, flows = session.engine.streams.cell, session.source.flows
    client, flow = max(cell("client", stream), 0), cell("flow", stream)
    sender = client if side == FROM_CLIENT else 1 - client
    return RawRun(data, (flows.port(flow, sender), flows.port(flow, 1 - sender)), side == FROM_CLIENT)
