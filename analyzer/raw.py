"""Rows of bytes that no dissector framed: their values, their line, their tree.

Theory. Such a row has its bytes as its only value, whatever they are. That they are another protocol's, told by their
first ones, is a finding; what else a protocol of ours knows of them (dissectors.raw) is for people, in line and tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from analyzer import defects
from analyzer.messages import FROM_CLIENT
from dissectors import registry
from dissectors.api import Body, Window
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity
from dissectors.foreign import foreign
from dissectors.raw import RawReader, Run

if TYPE_CHECKING:
    from analyzer.session import Analysis

_T = TypeVar("_T")

_DATA = FieldSpec("data", "bytes")


def body(message: bytes | Window) -> Body:
    """The bytes, and what they are if that is known."""
    data = defects.whole(message)
    return Body({"data": data}, None, tuple(_about(data)))


def line(session: Analysis, row: int, message: bytes | Window, said: Body) -> str:
    """How many, and what they are. said: their body."""
    known = told(session, row, defects.whole(message))
    texts = [*(finding.text for finding in said.findings[:1]), *([] if known is None else [known])]
    return f"{len(message)} bytes, {'; '.join(texts) or 'no protocol of ours'}"


def told(session: Analysis, row: int, message: bytes) -> str | None:
    """What a protocol of ours says of bytes that begin so; None where none knows them."""
    return _asked(session, row, message, lambda reader, run: reader.line(run))


def tree(session: Analysis, row: int, message: bytes) -> Tree:
    """One leaf, or what a protocol makes of them."""
    found = _asked(session, row, message, lambda reader, run: reader.tree(run))
    if found is None:
        found = Tree([Field(_DATA, message, 0, len(message))], [Source(0, "message", message)], [])
    found.findings[:0] = _about(message)
    return found


def _about(message: bytes) -> list[Finding]:
    other = foreign(message)
    if other is None:
        return []
    code = "proxy-preamble" if other.preamble else "wrong-protocol"
    return [Finding(Severity.NOTE, code, other.text, 0, 0, len(message))]


def _asked(
    session: Analysis, row: int, message: bytes | Window, ask: Callable[[RawReader, Run], _T | None]
) -> _T | None:
    """The first answer of those who may know; None if nobody does."""
    run = _run(session, row, defects.whole(message))
    for reader in registry.raw_readers():
        found = defects.asked(lambda reader=reader: ask(reader, run), None)  # type: ignore[misc]
        if found is not None:
            return found
    return None


def _run(session: Analysis, row: int, data: bytes) -> Run:
    stream, side = session.rows.cell("stream", row), session.rows.cell("side", row)
    cell, flows = session.engine.streams.cell, session.source.flows
    client, flow = max(cell("client", stream), 0), cell("flow", stream)
    sender = client if side == FROM_CLIENT else 1 - client
    return Run(data, (flows.port(flow, sender), flows.port(flow, 1 - sender)), side == FROM_CLIENT)
