"""What a reply may answer whose request is not in the capture: every response record is held against its bytes.

Theory. A reply has an xid, and of what was asked there is nothing in it. But few records consume a body exactly, and
those that do by accident give values that no server sends (plausible.py). So an operation is named where one layout
alone is left. Operations with the same response (exists, setData and setACL) cannot be told from each other, and are
named together. An empty body fits many, an xid that is set aside tells by itself. What any other reading would mask is
masked also where nothing is named: only bytes that certainly are none of these are shown.

Facts (ClientCnxn, FinalRequestProcessor). Behind an error there is nothing, but for a null token behind that of a SASL
step. A token may be any bytes behind their length, so it is believed only where nothing else can be.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from dissectors.api import Context, Role
from dissectors.finding import Finding, Severity
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import holds_secret
from dissectors.wire.emit import FAILURES
from dissectors.zookeeper.forms import MULTIS, find_form
from dissectors.zookeeper.four_letter_commands import is_text
from dissectors.zookeeper.guessing import NOTHING, Guess
from dissectors.zookeeper.guessing.plausible import answers, plausible
from dissectors.zookeeper.header import AUTH, CUT_CONNECT, PING, REPLY, REPLY_SIZE, SET_WATCHES, is_connect_response
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.schemas import operations
from dissectors.zookeeper.tables import table

_UNASKED = frozenset({"createSession", "error", "notification", "ping"})
"""What no client asks for, and pings, which are answered under an xid of their own."""

_SET_ASIDE = {PING: ("ping",), AUTH: ("auth",), SET_WATCHES: ("setWatches", "setWatches2")}
_END_OF_MULTI = struct.pack(">i?i", -1, True, -1)
_SHOWN = 3
_TOKEN = "SetSASLResponse"
_LENGTH = 4


@make_slotted
class ZooKeeperGuessFinding(Finding):
    """The finding that a reply was read by a guess: as the reply to one of these operations."""

    opcodes: tuple[int, ...] = ()

    @property
    def names(self) -> str:
        """What people call them: `exists, setData or setACL`."""
        return _alternatives(self.opcodes)


class _Reading(NamedTuple):
    """A response record with the opcodes that it may answer, and, of a message at hand, the values that it gives."""

    record: str | None
    opcodes: tuple[int, ...]
    values: Mapping[str, Any] = MappingProxyType({})


def is_orphan(message: bytes, context: Context) -> bool:
    """Whether a message is a reply of which nothing else says what it answers."""
    if context.role is not Role.RESPONSE or context.code is not None or len(message) < REPLY.size:
        return False
    return context.extra != CUT_CONNECT and not is_text(message) and not is_connect_response(message)


def guess(message: bytes) -> Guess:
    """What an orphan may be."""
    size, xid, _, err = REPLY.unpack_from(message)
    if size + _LENGTH != len(message):
        return Guess(secret=True)
    if size == REPLY_SIZE:
        return _of_header(xid, err)
    found = [each for reading in _readings() for each in _fitting(reading, message, err)]
    found = [each for each in found if each.record != _TOKEN] or found
    if len(found) == 1:
        return Guess(_make_guess_finding(found[0].opcodes, "no other layout fits"), found[0].opcodes[0])
    return Guess(_make_undecided_finding(found), secret=not found or any(holds_secret(each.values) for each in found))


def _of_header(xid: int, err: int) -> Guess:
    """The same of a reply without a body."""
    if xid in _SET_ASIDE:
        opcodes = tuple(load_numbers("operation")[name] for name in _SET_ASIDE[xid])
        return Guess(_make_guess_finding(opcodes, f"the xid {xid} is set aside for it"), opcodes[0])
    return NOTHING if err else Guess(_make_undecided_finding([each for each in _readings() if each.record is None]))


@cache
def _readings() -> Sequence[_Reading]:
    """All responses that differ, by their fields."""
    found: dict[str, _Reading] = {}
    for code, operation in operations().items():
        if operation.name not in _UNASKED:
            fields = str(table("records")["records"].get(operation.response, operation.response))
            same = found.setdefault(fields, _Reading(operation.response, ()))
            found[fields] = same._replace(opcodes=(*same.opcodes, code))
    return tuple(found.values())


def _fitting(reading: _Reading, message: bytes, err: int) -> Iterator[_Reading]:
    """The reading of a message, if the record consumes it exactly and gives values that a server would send."""
    if err and not operations()[reading.opcodes[0]].response_on_error:
        return
    if reading.record in MULTIS and not message.endswith(_END_OF_MULTI):
        return
    try:
        values, stop = find_form(reading.record).read(message, REPLY.size, Budget())
    except FAILURES:
        return
    if stop == len(message) and not values.get("err") and plausible(values):
        opcodes = tuple(code for code in reading.opcodes if answers(operations()[code].name, values))
        if opcodes:
            yield _Reading(reading.record, opcodes, values)


def _make_guess_finding(opcodes: tuple[int, ...], why: str) -> ZooKeeperGuessFinding:
    text = f"read as the reply to {_alternatives(opcodes)}; {why}"
    return ZooKeeperGuessFinding(Severity.NOTE, "guessed-layout", text, opcodes=opcodes)


def _make_undecided_finding(found: Sequence[_Reading]) -> Finding | None:
    if not found:
        return None
    names = [operations()[code].name for each in found for code in each.opcodes]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return Finding(Severity.NOTE, "guessed-layout", f"too little to tell what it answers: {shown} would fit")


def _alternatives(opcodes: Sequence[int]) -> str:
    names = [operations()[code].name for code in opcodes]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
