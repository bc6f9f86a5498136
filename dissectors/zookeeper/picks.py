"""Reading only some fields of ZooKeeper's requests and replies (wire/pick.py says how).

Theory. The opcode tells the record behind a header. Left to values() is what the bytes tell: connects and words, which
have no opcode, the items of a multi, events, replies with an error, which end behind their header, and records in
which a field has content of its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dissectors.api import Context, Pick, Role
from dissectors.message import Path
from dissectors.wire.pick import pick
from dissectors.wire.plan import Plan
from dissectors.zookeeper.forms import MULTIS
from dissectors.zookeeper.header import REQUEST
from dissectors.zookeeper.inside import OPENED
from dissectors.zookeeper.inside.hidden import is_delicate
from dissectors.zookeeper.schemas import operations, plan_of

_LEFT = OPENED | {0}
"""Opcodes of which not all is in the record: 0 is an event."""

_BEHIND_XID = 8
_NO_ERROR = bytes(4)


def picker(context: Context, paths: frozenset[Path]) -> Pick | None:
    """See Dissector.projection."""
    known = operations().get(context.code) if context.code is not None else None
    if known is None or known.code in _LEFT or any(name.startswith("_") for path in paths for name in path):
        return None
    if context.role is Role.REQUEST and known.request not in MULTIS:
        return _plain(pick(_request(known.request), paths, lambda message: REQUEST.size))
    if context.role is Role.RESPONSE and known.response not in MULTIS:
        return _without_error(pick(_reply(known.response), paths, lambda message: _BEHIND_XID))
    return None


@lru_cache(maxsize=128)
def _request(name: str | None) -> Plan:
    return Plan("request", 0, () if name is None else plan_of(name).steps)


@lru_cache(maxsize=128)
def _reply(name: str | None) -> Plan:
    """A ReplyHeader behind its xid, and what follows it."""
    return Plan("reply", 0, (*plan_of("ReplyHeader").steps[1:], *_request(name).steps))


def _plain(read: Pick) -> Pick:
    """Of a message with a secret in it more may have to be hidden where it breaks, which may be behind what is read."""

    def picked(message: bytes) -> dict[str, Any] | None:
        return None if is_delicate(message, None, connects=False) else read(message)

    return picked


def _without_error(read: Pick) -> Pick:
    plain = _plain(read)

    def picked(message: bytes) -> dict[str, Any] | None:
        return plain(message) if message[16:20] == _NO_ERROR else None

    return picked
