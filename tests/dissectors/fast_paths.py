"""What fast paths say of messages, one by one: used by the tests of their protocols."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from analyzer.capture.sources import gather_rows
from analyzer.decode.content import find_dissector, read_message
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from dissectors.api import MessageHeader, Role, State
from dissectors.wire.fast_path import NULL, NULL64, Column, FastPath, HeaderView, NameColumn, Wire

Message = tuple[bytes, bool]
"""Its bytes, and whether the client sent it."""

TRAPS = b'"\\{}[]:,0123456789-+.enut x\0\x7f\x80\xff'


@cache
def recorded(protocol: str) -> list[Message]:
    """All messages of a protocol's golden captures."""
    found: list[Message] = []
    for path in sorted((Path(__file__).parents[1] / "golden" / protocol).glob("*.pcap.zst")):
        with Session([path]).load() as session:
            side = session.rows.column("side").tolist()
            ours = [row for row in range(len(side)) if getattr(find_dissector(session, row), "name", None) == protocol]
            found += [(read_message(session, row), side[row] == FROM_CLIENT) for row in ours]
    return found


def mutated(data: bytes, random: Random, first: int, last: int) -> bytes:
    """A message with something exchanged, put in or left out within bytes `first` to `last`; its length is true."""
    inside = bytearray(data[first:last])
    for _ in range(random.randint(0, 3)):
        at, again = random.randrange(len(inside) + 1), random.randrange(len(inside) + 1)
        new = random.choice((b"", bytes([random.choice(TRAPS)]), bytes(inside[again : again + random.randint(1, 12)])))
        inside[at : at + random.choice((0, 0, 1, 1, 1, 12))] = new
    body = data[4:first] + bytes(inside) + data[last:]
    if not random.randrange(8):
        body = body[: random.randrange(len(body) + 1)]
    return len(body).to_bytes(4) + body


def looks(
    fast_path: FastPath, messages: Sequence[Message], available: Sequence[int] | None = None, *, unsigned: bool = False
) -> list[HeaderView | None]:
    """What headers() says of each message, None where it is unsure. Another message's bytes follow each one.

    unsigned: numbers of 64 bits are.
    """
    data = b"".join(message for message, _ in messages) + b"\xff" * (fast_path.WIDTH + 8192)
    sizes = np.array([len(message) for message, _ in messages], np.int64)
    at = np.cumsum(sizes) - sizes

    def gather(rows: Column, offset: Column, width: int) -> Column:
        return gather_rows(data, at[rows] + offset, width)

    side = np.array([from_client for _, from_client in messages], bool)
    known = sizes if available is None else np.array(available, np.int64)
    found = fast_path.headers(Wire(gather_rows(data, at, fast_path.WIDTH), known, side, gather))

    def name(column: NameColumn | None, row: int) -> str | None:
        number = NULL if column is None else int(column.number[row])
        return None if column is None or number == NULL else column.names[number]

    def value(column: Column, row: int) -> int | None:
        number = int(column[row])
        if number == (NULL64 if column.dtype == np.int64 else NULL):
            return None
        return number % (1 << 64) if unsigned else number

    def look(row: int) -> HeaderView:
        role = Role(int(found.role[row]))
        header = MessageHeader(
            role,
            name(found.operation, row),
            value(found.code, row),
            value(found.version, row),
            value(found.correlation, row),
            name(found.client, row),
            State(int(found.state[row])),
            name(found.scope, row),
        )
        key = value(found.correlation if found.key is None else found.key, row)
        kind = name(found.scope if found.kind is None else found.kind, row)
        takes_part = unsigned or role in (Role.REQUEST, Role.RESPONSE)
        return HeaderView(header, key if takes_part else None, kind, bool(found.stepped[row]))

    return [None if found.unsure[row] else look(row) for row in range(len(messages))]
