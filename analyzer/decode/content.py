"""Reads the bytes of rows and the earlier facts that decoding them needs, for one row or for many at once.

A message is read up to its first lost byte. Nothing is cached.

Theory. The operation of an orphan (a response without request) is guessed from its bytes alone, so a row looks the same
whatever was read before. Guessing for one message costs a thousand times as much as decoding it, but similar messages
share most of that work. So many are guessed together, in columns (FastPath.guess_hints), and the context passes the
guesses to the decoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile

import numpy as np

from analyzer.columns.arrays import Ints, decode_null, decode_null64, list_distinct, rank_in_runs
from analyzer.messages import defects
from analyzer.messages.paged_message import LONG, PagedMessage
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, MessageHeader, Role, State, Window
from dissectors.guess_hints import SKIPPED
from dissectors.slotted import replace
from dissectors.wire.fast_path import NULL, load_fast_path

Undecoded = tuple[Dissector | None, bytes | Window, Context]


def read_cell(session: Analysis, name: str, row: int) -> int | None:
    """Returns one cell of a 32-bit column of the index; None for null."""
    return decode_null(session.rows.cell(name, row))


def find_dissector(session: Analysis, row: int) -> Dissector | None:
    """Returns the dissector of a row; None for raw bytes."""
    return session.engine.dissector(session.rows.cell("protocol", row))


def read_header(session: Analysis, row: int) -> MessageHeader:
    """Returns the header of a row, as the index has it."""
    cell = session.rows.cell
    role, state, scope = (
        Role(cell("role", row)),
        State(cell("state", row)),
        session.engine.names.text(cell("scope", row)),
    )
    return MessageHeader(
        role,
        session.engine.names.text(cell("operation", row)),
        read_cell(session, "code", row),
        read_cell(session, "version", row),
        decode_null64(cell("correlation", row), scoped=scope is not None),
        session.engine.names.text(cell("client", row)),
        state,
        scope,
    )


def read_context(session: Analysis, row: int) -> Context:
    """Returns the context that decoding a row needs."""
    return make_context(session, *(session.rows.cell(name, row) for name in ("role", "code", "version", "extra")))


def make_context(session: Analysis, role: int, code: int, version: int, extra: int) -> Context:
    """Makes the context of rows that have these cells in the index."""
    return Context(
        Role(role), decode_null(code), decode_null(version), None if extra == NULL else session.engine.extras[extra]
    )


def list_pieces(session: Analysis, row: int) -> list[tuple[int, int, int]]:
    """Returns location (negative: lost), length and packet of each piece of a row's bytes, in order."""
    first = session.rows.cell("pieces", row)
    last = first + session.rows.cell("count", row)
    columns = (session.engine.pieces.column(name)[first:last].tolist() for name in ("at", "length", "packet"))
    return list(zip(*columns, strict=True))


def read_message(session: Analysis, row: int) -> bytes:
    """Returns the bytes of a row up to the first lost one."""
    first = session.rows.cell("pieces", row)
    at = session.engine.pieces.cell("at", first)
    if session.rows.cell("count", row) == 1 and at >= 0:
        return session.source.store.read_bytes(at, session.engine.pieces.cell("length", first))
    if session.rows.cell("length", row) > LONG:
        return defects.read_whole(open_window(session, row))  # the pieces are never in memory twice
    parts: list[bytes] = []
    for at, length, _ in list_pieces(session, row):
        if at < 0:
            break
        parts.append(session.source.store.read_bytes(at, length))
    return b"".join(parts)


def read_messages(session: Analysis, rows: Ints) -> list[bytes]:
    """Returns the bytes of rows, each up to the first lost one."""
    first = session.rows.column("pieces")[rows]
    at, length = session.engine.pieces.column("at")[first], session.engine.pieces.column("length")[first]
    several = (session.rows.column("count")[rows] > 1) | (at < 0)
    found = session.source.store.read_many(np.where(several, 0, at), np.where(several, 0, length))
    places = np.flatnonzero(several)
    for place, message in zip(places.tolist(), _join_pieces(session, rows[places]), strict=True):
        found[place] = message
    return found


def _join_pieces(session: Analysis, rows: Ints) -> Iterator[bytes]:
    """Yields the bytes of rows that have several pieces or lost ones; reads all pieces in one call."""
    count = session.rows.column("count")[rows].astype(np.int64)
    piece = np.repeat(session.rows.column("pieces")[rows], count) + rank_in_runs(count)
    at, length = session.engine.pieces.column("at")[piece], session.engine.pieces.column("length")[piece]
    parts = iter(session.source.store.read_many(np.where(at < 0, 0, at), np.where(at < 0, 0, length)))
    there = iter((at >= 0).tolist())
    for pieces in count.tolist():
        mine = list(islice(parts, pieces))
        whole = sum(1 for _ in takewhile(bool, list(islice(there, pieces))))
        yield b"".join(mine[:whole])


def read_contents(session: Analysis, rows: Ints) -> Sequence[bytes | Window]:
    """Returns the bytes of rows, each up to the first lost one; for long messages of a dissector, a Window instead."""
    long = (session.rows.column("length")[rows] > LONG) & (session.rows.column("protocol")[rows] >= 0)
    if not long.any():
        return read_messages(session, rows)
    found: list[bytes | Window] = [b""] * len(rows)
    for place, message in zip(np.flatnonzero(~long).tolist(), read_messages(session, rows[~long]), strict=True):
        found[place] = message
    for place in np.flatnonzero(long).tolist():
        found[place] = open_window(session, int(rows[place]))
    return found


def open_window(session: Analysis, row: int) -> Window:
    """Returns a Window on the bytes of a row up to the first lost one; they are read on demand."""
    first = session.rows.cell("pieces", row)
    last = first + session.rows.cell("count", row)
    at, length = (session.engine.pieces.column(name)[first:last] for name in ("at", "length"))
    lost = np.flatnonzero(at < 0)[:1].tolist()
    return PagedMessage(session.source.store, at[: lost[0]] if lost else at, length[: lost[0]] if lost else length)


def read_undecoded(session: Analysis, rows: Ints) -> list[Undecoded]:
    """Returns for many rows what decoding needs: the dissector (None for raw bytes), the bytes and the context.

    The bytes are those of read_contents().
    """
    columns = [session.rows.column(name)[rows].tolist() for name in ("protocol", "role", "code", "version", "extra")]
    contexts: dict[tuple[int, ...], tuple[Dissector | None, Context]] = {}
    found: list[Undecoded] = []
    messages = read_contents(session, rows)
    for message, key in zip(messages, zip(*columns, strict=True), strict=True):
        known = contexts.get(key)
        if known is None:
            known = contexts[key] = session.engine.dissector(key[0]), make_context(session, *key[1:])
        found.append((known[0], message, known[1]))
    for place, hints in (guess_hints(session, rows, messages) | _skip_long(session, rows)).items():
        dissector, message, context = found[place]
        found[place] = dissector, message, replace(context, extra={**(context.extra or {}), **hints})
    return found


def find_orphans(session: Analysis, rows: Ints, *, long: bool = False) -> Ints:
    """Returns the indexes (int64, ascending) of responses without request among rows: the LONG ones, or all others."""
    code, role, protocol, length = (session.rows.column(name)[rows] for name in ("code", "role", "protocol", "length"))
    return np.flatnonzero((code == NULL) & (role == Role.RESPONSE) & (protocol >= 0) & ((length > LONG) == long))


def _skip_long(session: Analysis, rows: Ints) -> dict[int, Mapping[str, str]]:
    """Returns the extra contexts of long orphans, which are not guessed together, while guesses have a budget."""
    if session.engine.guesses is None:
        return {}
    places = find_orphans(session, rows, long=True)
    session.engine.guesses.skip(rows[places])
    return dict.fromkeys(places.tolist(), SKIPPED)


def guess_hints(session: Analysis, rows: Ints, messages: Sequence[bytes | Window]) -> dict[int, Mapping[str, str]]:
    """Returns the extra contexts of the orphans among n rows, by their index. messages: the bytes of the rows."""
    orphans = find_orphans(session, rows)
    protocols = session.rows.column("protocol")[rows[orphans]]
    found: dict[int, Mapping[str, str]] = {}
    for protocol in list_distinct(protocols).tolist():
        dissector = session.engine.dissector(protocol)
        fast_path = None if dissector is None else load_fast_path(dissector)
        if fast_path is not None:
            places = orphans[protocols == protocol].tolist()
            mine = [message for message in map(messages.__getitem__, places) if isinstance(message, bytes)]
            guesses = fast_path.guess_hints
            hints = (
                guesses(mine)
                if session.engine.guesses is None
                else session.engine.guesses.guess(guesses, rows[places], mine)
            )
            found |= {place: each for place, each in zip(places, hints, strict=False) if each}
    return found
