"""Collects facts from the handshakes of TLS connections, with and without keys.

Theory. Hello messages, the certificates of TLS 1.2, and alerts during a handshake are not encrypted. If keys were tried
on a connection, the engine has its facts. Otherwise the first raw rows of the connection are read again, at most as
many bytes as a handshake takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.messages.index import FROM_CLIENT, NO_PROTOCOL
from analyzer.session import Analysis
from analyzer.tls.facts import TlsFacts
from analyzer.tls.session import TlsSession
from dissectors.foreign import foreign

MOST_READ = 1 << 16
"""Bytes of each direction that are searched for handshake messages."""

_PREFIX = 64


def find_raw_rows(session: Analysis, streams: Ints | None = None) -> dict[int, dict[int, int]]:
    """Returns the first raw row by stream and side, for streams in which one of these rows begins with TLS.

    streams: only these (int64, n).
    """
    index = session.rows
    present = slice(index.first, len(index))
    chosen = index.column("protocol")[present] == NO_PROTOCOL
    if streams is not None:
        chosen &= np.isin(index.column("stream")[present], streams)
    rows = np.flatnonzero(chosen) + index.first
    direction = index.column("stream")[rows].astype(np.int64) * 2 + (index.column("side")[rows] != FROM_CLIENT)
    each, first = np.unique(direction, return_index=True)
    found: dict[int, dict[int, int]] = {}
    for number, row in zip(each.tolist(), rows[first].tolist(), strict=True):
        other = foreign(_read_beginning(session, row, _PREFIX))
        if other is not None and other.name == "tls":
            found.setdefault(number // 2, {})[number % 2] = row
    return found


_FOUND: WeakKeyDictionary[Analysis, dict[int, dict[int, int]]] = WeakKeyDictionary()
"""Results of find_raw_rows() for analyses that have ended."""


def list_raw_rows(session: Analysis, streams: Ints) -> dict[int, dict[int, int]]:
    """Returns the result of find_raw_rows(), at least for these streams. At the end of the input, it searches once."""
    if not session.ended:
        return find_raw_rows(session, streams)
    if session not in _FOUND:
        _FOUND[session] = find_raw_rows(session)
    return _FOUND[session]


def read_facts(session: Analysis, stream: int, rows: Mapping[int, int] | None = None) -> TlsFacts | None:
    """Returns the TLS facts of a stream; None if it has none. rows: its first raw rows by side, if known."""
    found = session.engine.tls.find(stream)
    if found is not None:
        return found
    rows = find_raw_rows(session, np.array([stream])).get(stream, {}) if rows is None else rows
    inspected = TlsSession(inspects=True)
    for side, row in sorted(rows.items()):
        inspected.feed(side, _read_beginning(session, row), 0, 0, None)
    return inspected.facts if rows else None


def _read_beginning(session: Analysis, row: int, most: int = MOST_READ) -> bytes:
    """Returns the first bytes of a row, up to the first lost one."""
    pieces, parts = session.engine.pieces, []
    first, count = session.rows.cell("pieces", row), session.rows.cell("count", row)
    for place in range(first, first + count):
        at, length = pieces.cell("at", place), min(pieces.cell("length", place), most)
        if at < 0 or length <= 0:
            break
        parts.append(session.source.store.read_bytes(at, length))
        most -= length
    return b"".join(parts)


def is_decrypted(session: Analysis, row: int) -> bool:
    """Returns whether the bytes of a row are decrypted TLS; its packets carried ciphertext then."""
    facts = session.engine.tls.find(session.rows.cell("stream", row))
    return facts is not None and facts.is_decrypted
