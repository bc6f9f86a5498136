"""ZooKeeper's messages: made by hand, and those of the golden captures."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from analyzer.decode.content import find_dissector, read_context, read_header, read_message
from analyzer.session import Session
from dissectors.api import Context, Dissector
from dissectors.wire.message import ErrorName
from dissectors.zookeeper.labels import error_name, load_numbers

GOLDEN = Path(__file__).parents[2] / "golden" / "zookeeper"

WORLD = struct.pack(">ii", 1, 31) + b"\0\0\0\5world\0\0\0\6anyone"
"""A vector of one ACL: everybody may do everything."""


def ustring(text: str | None) -> bytes:
    return buffer(None if text is None else text.encode())


def buffer(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4) + data


def vector(*items: bytes) -> bytes:
    return len(items).to_bytes(4) + b"".join(items)


def acl(scheme: str, identity: str, perms: int = 31) -> bytes:
    return perms.to_bytes(4) + ustring(scheme) + ustring(identity)


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4) + body


def connect(session: int = 0, zxid: int = 0, password: bytes | None = bytes(16), tail: bytes = b"\0") -> bytes:
    return framed(struct.pack(">iqiq", 0, zxid, 10_000, session) + buffer(password) + tail)


def connected(session: int, timeout: int = 10_000, password: bytes | None = b"s" * 16, tail: bytes = b"\0") -> bytes:
    return framed(struct.pack(">iiq", 0, timeout, session) + buffer(password) + tail)


def request(xid: int, operation: str | int, body: bytes = b"") -> bytes:
    code = operation if isinstance(operation, int) else load_numbers("operation")[operation]
    return framed(struct.pack(">ii", xid, code) + body)


def get_data(xid: int, path: str = "/a") -> bytes:
    return request(xid, "getData", ustring(path) + b"\0")


def reply(xid: int, body: bytes = b"", err: int = 0, zxid: int = 7) -> bytes:
    return framed(struct.pack(">iqi", xid, zxid, err) + body)


def event(path: str = "/a", kind: int = 3, state: int = 3) -> bytes:
    return reply(-1, struct.pack(">ii", kind, state) + ustring(path), zxid=-1)


def packet(name: str | int, zxid: int = 7, data: bytes | None = None, ids: bytes = b"\xff\xff\xff\xff") -> bytes:
    code = name if isinstance(name, int) else load_numbers("packet")[name]
    return struct.pack(">iq", code, zxid) + buffer(data) + ids


def txn(operation: str | int, body: bytes = b"", zxid: int = 7) -> bytes:
    code = operation if isinstance(operation, int) else load_numbers("operation")[operation]
    return struct.pack(">qiqqi", 0x1234, 5, zxid, 1_700_000_000_000, code) + body


def proposal(operation: str, body: bytes = b"", zxid: int = 7) -> bytes:
    return packet("PROPOSAL", zxid, txn(operation, body, zxid))


def node(path: str, data: bytes | None = b"x", key: int = 1) -> bytes:
    return ustring(path) + buffer(data) + key.to_bytes(8) + bytes(60)


def snapshot(*nodes: bytes, sessions: int = 1, acls: tuple[bytes, ...] = (WORLD,)) -> bytes:
    head = vector(*(struct.pack(">qi", number, 6000) for number in range(1, sessions + 1)))
    head += vector(*(key.to_bytes(8) + each for key, each in enumerate(acls, 1)))
    return head + node("") + b"".join(nodes) + ustring("/") + ustring("BenWasHere")


def sasl(token: bytes | None = b"", status: int = 0) -> bytes:
    return struct.pack(">qi", 6855662812065295820, status) + buffer(token)


def initial(sid: int = 1, address: str = "10.0.0.1:3888", version: int = -65536) -> bytes:
    return struct.pack(">qq", version, sid) + ustring(address)


def notification(size: int = 44, config: str = "", state: int = 0) -> bytes:
    body = struct.pack(">iqqqqi", state, 3, 7, 1, 2, 2) + ustring(config)
    return framed(body if size >= 44 else body[:size])


class Message(NamedTuple):
    """One message of a golden capture, and what decoding it needs."""

    name: str
    dissector: Dissector
    data: bytes
    context: Context

    @property
    def error_name(self) -> ErrorName | None:
        """What names the errors that messages of its protocol report."""
        return error_name if self.dissector.name == "zookeeper" else None


@cache
def golden() -> tuple[Message, ...]:
    """All messages of all golden captures."""
    return tuple(found for path in sorted(GOLDEN.glob("*.pcap.zst")) for found in _of(path))


def _of(path: Path) -> Iterator[Message]:
    with Session([path]).load() as session:
        for row in range(len(session.rows)):
            dissector = find_dissector(session, row)
            if dissector is not None:
                name = f"{path.name.partition('.')[0]} {read_header(session, row).operation} {row + 1}"
                yield Message(name, dissector, read_message(session, row), read_context(session, row))


def kinds(most: int = 1) -> list[Message]:
    """A few of each kind: protocol, operation, role."""
    seen: dict[tuple[object, ...], int] = {}
    found = []
    for each in golden():
        kind = each.dissector.name, each.context.role, each.context.code, each.name.split()[1]
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= most:
            found.append(each)
    return found
