"""Guesses the operation of a reply whose request is not in the capture.

Theory. A reply has an xid, but nothing of its request. Few records consume a body exactly, and those that do by
accident give values that no server sends. So an operation is named if one layout alone is left. Operations with the
same response (exists, setData and setACL) cannot be told apart, and are named together. An empty body fits many; a
reserved xid determines its operation. Bytes that any other candidate would mask are masked even if no operation is
named: only bytes that are certainly not secret are shown.

Facts (ClientCnxn, FinalRequestProcessor). Behind an error there is nothing, except a null token after an error of a
SASL step. A token may be any bytes behind their length, so it is accepted only if nothing else is possible.

Theory. Most records are refuted by their size before any value is read: a Stat has 68 bytes, and a count or a length
stands first in most others (_choose_readings).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from dissectors.api import Context, Role
from dissectors.finding import Finding, Severity
from dissectors.guess_hints import GUESS, SKIPPED_FINDING, is_skipped
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.embedded import holds_secret
from dissectors.wire.emit import FAILURES
from dissectors.wire.plan import Array, Leaf, Step, Struct
from dissectors.wire.primitive import FixedWidth
from dissectors.zookeeper.four_letter_commands import is_text
from dissectors.zookeeper.guessing import NOTHING, Guess
from dissectors.zookeeper.guessing.plausible import answers, plausible
from dissectors.zookeeper.header import (
    AUTH,
    PING,
    REPLY,
    REPLY_SIZE,
    SET_WATCHES,
    is_connect_response,
    is_cut_connect,
)
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.schemas import MULTIS, find_form, find_steps, operations
from dissectors.zookeeper.tables import table

_UNASKED = frozenset({"createSession", "error", "notification", "ping"})
"""What no client asks for, and pings, which are answered under an xid of their own."""

_SET_ASIDE = {PING: ("ping",), AUTH: ("auth",), SET_WATCHES: ("setWatches", "setWatches2")}
_END_OF_MULTI = struct.pack(">i?i", -1, True, -1)
_SHOWN = 3
_CODE = "guessed-layout"
_SECRET, _TEXT = "guessSecret", "guessText"
_TOKEN = "SetSASLResponse"
_LENGTH = 4
_COUNT_END = REPLY.size + _LENGTH


@make_slotted
class ZooKeeperGuessFinding(Finding):
    """The finding that a reply was read by a guess: as the reply to one of these operations."""

    opcodes: tuple[int, ...] = ()

    @property
    def names(self) -> str:
        """The names of the possible operations for people: `exists, setData or setACL`."""
        return _alternatives(self.opcodes)


def format_hints(message: bytes) -> Mapping[str, str]:
    """Guesses a reply, and writes the guess as an extra context, with which it is decoded without guessing again.

    Empty for what is_orphan() does not take for a reply.
    """
    if not is_orphan(message, Context(Role.RESPONSE)):
        return {}
    found = guess(message)
    opcodes = found.finding.opcodes if isinstance(found.finding, ZooKeeperGuessFinding) else ()
    hints = {GUESS: " ".join(map(str, opcodes)), _SECRET: "yes" if found.secret else ""}
    return hints if found.finding is None else {**hints, _TEXT: found.finding.text}


def read_guess(context: Context) -> Guess | None:
    """Returns the guess that format_hints wrote; None if there is none."""
    hints = context.extra or {}
    if GUESS not in hints or is_cut_connect(context):
        return None
    if is_skipped(hints):
        return Guess(SKIPPED_FINDING, secret=True)
    return _read_hints(hints[GUESS], hints[_SECRET], hints.get(_TEXT))


@lru_cache(maxsize=256)
def _read_hints(opcodes: str, secret: str, text: str | None) -> Guess:
    codes = tuple(map(int, opcodes.split()))
    if codes and text is not None:
        return Guess(ZooKeeperGuessFinding(Severity.NOTE, _CODE, text, opcodes=codes), codes[0])
    return Guess(None if text is None else Finding(Severity.NOTE, _CODE, text), secret=bool(secret))


class _Reading(NamedTuple):
    """A response record with the opcodes that it may answer, and, of a message at hand, the values that it gives."""

    record: str | None
    opcodes: tuple[int, ...]
    values: Mapping[str, Any] = MappingProxyType({})


def is_orphan(message: bytes, context: Context) -> bool:
    """Returns whether a message is a reply whose request is unknown."""
    if context.role is not Role.RESPONSE or context.code is not None or len(message) < REPLY.size:
        return False
    return not is_cut_connect(context) and not is_text(message) and not is_connect_response(message)


def guess(message: bytes) -> Guess:
    """Guesses which operation an orphaned reply answers."""
    size, xid, _, err = REPLY.unpack_from(message)
    if size + _LENGTH != len(message):
        return Guess(secret=True)
    if size == REPLY_SIZE:
        return _of_header(xid, err)
    readings = _choose_readings(
        size - REPLY_SIZE, message[REPLY.size : _COUNT_END], err != 0, message.endswith(_END_OF_MULTI)
    )
    found = [each for reading in readings for each in _fitting(reading, message)]
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


@lru_cache(maxsize=4096)
def _choose_readings(left: int, begin: bytes, error: bool, ends_multi: bool) -> Sequence[_Reading]:
    """Returns the readings that a body's size, its first bytes and its end allow. `error`: the header has one."""
    found = []
    for each in _readings():
        fits = ends_multi if each.record in MULTIS else _may_fit(each.record, left, begin)
        if fits and (not error or operations()[each.opcodes[0]].response_on_error):
            found.append(each)
    return found


def _fitting(reading: _Reading, message: bytes) -> Iterator[_Reading]:
    """The reading of a message, if the record consumes it exactly and gives values that a server would send."""
    try:
        values, stop = find_form(reading.record).read(message, REPLY.size, Budget())
    except FAILURES:
        return
    if stop == len(message) and not values.get("err") and plausible(values):
        opcodes = tuple(code for code in reading.opcodes if answers(operations()[code].name, values))
        if opcodes:
            yield _Reading(reading.record, opcodes, values)


def _may_fit(record: str | None, left: int, begin: bytes) -> bool:
    """Whether a record's size, and the count or length at its beginning, allow it to take so many bytes."""
    size = _measure_record(record)
    if not size.least <= left <= size.most:
        return False
    if not size.each:
        return True
    count = max(int.from_bytes(begin, signed=True), 0)
    most = size.most_behind + (count * size.most_each if count else 0)
    return size.least + count * size.each <= left <= most


class _Size(NamedTuple):
    """How many bytes a record takes.

    each, most_each: the bytes of each thing that the number at its beginning counts, 0 if there is no such number.
    most_behind: of all else, that number included.
    """

    least: int
    most: float
    each: int = 0
    most_each: float = 0
    most_behind: float = 0


@cache
def _measure_record(record: str | None) -> _Size:
    steps = find_steps(record)
    sizes = [_measure(step) for step in steps]
    least, most = sum(size[0] for size in sizes), sum(size[1] for size in sizes)
    if not steps or not isinstance(steps[0], Array | Leaf) or sizes[0][1] < inf:
        return _Size(least, most)
    each, most_each = _measure(steps[0].element) if isinstance(steps[0], Array) else (1, 1.0)
    return _Size(least, most, each, most_each, _LENGTH + sum(size[1] for size in sizes[1:]))


def _measure(step: Step) -> tuple[int, float]:
    """Returns how many bytes a step of a record takes, at the least and at the most."""
    if isinstance(step, Struct):
        parts = [_measure(each) for each in step.steps]
        return sum(least for least, _ in parts), sum(most for _, most in parts)
    if isinstance(step, Leaf) and isinstance(step.primitive, FixedWidth):
        return step.primitive.size, step.primitive.size
    assert isinstance(step, Array) or (isinstance(step, Leaf) and isinstance(step.primitive, SizedBytes))
    return _LENGTH, inf


@lru_cache(maxsize=64)
def _make_guess_finding(opcodes: tuple[int, ...], why: str) -> ZooKeeperGuessFinding:
    text = f"read as the reply to {_alternatives(opcodes)}; {why}"
    return ZooKeeperGuessFinding(Severity.NOTE, _CODE, text, opcodes=opcodes)


def _make_undecided_finding(found: Sequence[_Reading]) -> Finding | None:
    if not found:
        return None
    names = [operations()[code].name for each in found for code in each.opcodes]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return Finding(Severity.NOTE, _CODE, f"too little to tell what it answers: {shown} would fit")


def _alternatives(opcodes: Sequence[int]) -> str:
    names = [operations()[code].name for code in opcodes]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
