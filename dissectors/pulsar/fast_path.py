"""Pulsar's headers for many messages at once: the fast path of header.sight and PulsarConversation.

Theory. A command is Protocol Buffers, so the place of its ids depends on the fields before them. A cursor goes through
all messages at once, one field in each step: it reads the tag and the number behind it, stores the number if it is one
of the ids, and skips the field's bytes. Most messages have their ids within two or three fields, so there are few
steps. Where the cursor leaves the bytes at hand, new ones are fetched. The table that the slow path reads tells how a
command begins, which fields are wanted, and their meaning.

Messages that no encoder writes (a tag of two bytes, a repeated id, a fixed number before the ids) are left to the slow
path. tests/dissectors/pulsar/test_fast_path.py compares the two.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dissectors.api import Context, Conversation, Role, State
from dissectors.pulsar.commands import Command, commands
from dissectors.pulsar.conversation import (
    CHECKSUM_MAGIC,
    CHECKSUM_SIZE,
    IN_TURN,
    SOURCE_POSITION,
    PulsarConversation,
    can_answer,
    has_source_position,
    make_key,
)
from dissectors.pulsar.header import COMMAND_AT, NO_ID, PREFIX, read_header
from dissectors.wire.fast_path import (
    NULL,
    NULL64,
    Column,
    FastPath,
    HeaderColumns,
    HeaderLayout,
    HeaderView,
    NameColumn,
    Reporting,
    Rules,
    Wire,
    be,
)
from dissectors.wire.primitive import INT32
from dissectors.wire.protobuf import BYTES, VARINT

CODES = 256
"""One more than the largest type that is read here: it stands in one byte, as those of all commands do."""

IDS = 2
"""Places of fields that header and pairing read; a third, of a receipt, is for geo-replicators alone."""

TAGS = 128
"""One more than the largest tag of one byte."""

LONGEST_FIELD, LONGEST_SIZE = 11, 4
"""Bytes of a tag and a number behind it, and of a number that counts bytes: a fifth is for sizes that no frame has."""

TOO_LONG = 1 << 20
"""Bytes of a number that does not end: more than are ever at hand."""

MOST_FIELDS, MOST_WINDOWS = 12, 4
"""How many fields are read in the same bytes, and how often other bytes are fetched."""

SEARCHED = (128, 256, 512, 1024, 4096, PREFIX)
"""Sizes of metadata: those between two neighbours are searched in rows as long as the larger one."""

AT_ONCE = 1 << 19
"""Bytes that are searched together: so few that they stay in the cache."""


class CommandTables(NamedTuple):
    """Properties of commands as arrays by type, or by direction (1: the client's) and type.

    begin, mask: of the first four bytes of a command, little-endian; body: where the length of its body stands. role,
    uncounted: with and without its number. left: how many fields are wanted; place: where a field goes, by type and
    tag, or NULL. kind: what the number counts in, or NULL. special: what the Conversation must see. fits: by types of
    question and answer.
    """

    name: Column
    begin: Column
    mask: Column
    body: Column
    role: Column
    uncounted: Column
    left: Column
    place: Column
    kind: Column
    in_turn: Column
    special: Column
    fits: Column


@cache
def _number_kinds() -> tuple[list[str], dict[str, int]]:
    """Names of what numbers count in, and the place of each count; SEND has the last, one for each producer."""
    names = sorted({command.counts for command in commands().values() if command.counts} - {"send"})
    places = {name: place for place, name in enumerate([*names, "send"])}
    return ["request:" if name == "request" else name for name in names], places


@cache
def _find_code(name: str) -> int:
    return next(code for code, command in commands().items() if command.name == name)


@cache
def _make_tables() -> CommandTables:
    tables = CommandTables(
        name=np.full(CODES, NULL, np.int32),
        begin=np.ones(CODES, np.uint32),
        mask=np.zeros(CODES, np.uint32),
        body=np.zeros(CODES, np.int64),
        role=np.zeros((2, CODES), np.int8),
        uncounted=np.zeros((2, CODES), np.int8),
        left=np.zeros(CODES, np.int64),
        place=np.full((CODES, TAGS), NULL, np.int32),
        kind=np.full(CODES, NULL, np.int32),
        in_turn=np.zeros(CODES, bool),
        special=np.zeros(CODES, bool),
        fits=np.ones((CODES, CODES), bool),
    )
    for number, command in enumerate(commands().values()):
        if len(command.begin) <= 4 and all(tag < TAGS for tag in command.wanted):
            _fill_row(tables, number, command)
    return tables


def _fill_row(tables: CommandTables, number: int, command: Command) -> None:
    code = command.code
    tables.name[code] = number
    tables.begin[code] = int.from_bytes(command.begin, "little")
    tables.mask[code] = (1 << 8 * len(command.begin)) - 1
    tables.body[code] = COMMAND_AT + len(command.begin)
    tables.role[:, code] = command.roles
    tables.uncounted[:, code] = command.roles if command.uncounted is None else command.uncounted
    tables.in_turn[code] = command.counts in IN_TURN
    tables.special[code] = _is_special(command)
    tables.fits[list(commands()), code] = [can_answer(command.name, request) for request in commands()]
    if command.counts is not None:
        tables.kind[code] = _number_kinds()[1][command.counts]
    if not tables.special[code]:
        tables.left[code] = len(command.wanted)
        for tag, place in command.wanted.items():
            tables.place[code, tag] = place


def _is_special(command: Command) -> bool:
    """Whether it names the client, or is a push that may be an answer."""
    return command.answers or any(tag & 7 == BYTES for tag in command.wanted)


class MessageIds(NamedTuple):
    """The wanted fields of n messages: value (uint64) and whether it is there, IDS x n; and what could not be told."""

    value: Column
    there: Column
    unsure: Column


class PulsarFastPath(FastPath):
    """Ids are read in columns; what changes how later messages are read is left to the Conversation."""

    WIDTH = 64
    RULES = Rules(taken=())

    def headers(self, wire: Wire) -> HeaderColumns:
        """FastPath: Pulsar.header. A message whose ids are out of reach, or not where encoders put them, is unsure."""
        tables = _make_tables()
        edge = np.minimum(wire.available, self.WIDTH)
        start = np.ascontiguousarray(wire.view[:, COMMAND_AT : COMMAND_AT + 4]).view("<u4").reshape(-1)
        code = (start >> 8 & 0xFF).astype(np.int64)
        unsure = (start & tables.mask[code] != tables.begin[code]) | (edge < tables.body[code])
        ids = _read_ids(wire, code, np.flatnonzero(~unsure & (tables.left[code] > 0)))
        unsure |= ids.unsure
        kind = tables.kind[code]
        of_request, of_send = (kind == _number_kinds()[1][count] for count in ("request", "send"))
        number = np.where(of_send, ids.value[1], ids.value[0])
        counted = np.where(of_send, ids.there[0] & ids.there[1], ids.there[0] & ~(of_request & (number == NO_ID)))
        printed = counted & (of_request | of_send)
        counted |= tables.in_turn[code]
        side = wire.from_client.astype(np.int64)
        role = np.where(counted, tables.role[side, code], tables.uncounted[side, code])
        kinds = _add_producers(kind, np.flatnonzero(of_send & counted), ids.value[0])
        key = np.where(counted, number.view(np.int64), NULL64)
        stepped = tables.special[code] | (counted & (key == NULL64)) | (~counted & (role == Role.RESPONSE))
        stepped |= (code == _find_code("PRODUCER_SUCCESS")) & ids.there[1] & (ids.value[1] == 0)
        stepped |= (code == _find_code("CLOSE_PRODUCER")) & ~wire.from_client
        sends = np.flatnonzero((code == _find_code("SEND")) & ~unsure)
        unsure[sends] |= _may_have_source(wire, sends)
        return HeaderColumns(
            role=role,
            state=np.full(len(role), State.COMPLETE, np.int8),
            operation=NameColumn(tables.name[code], [command.name for command in commands().values()]),
            code=code.astype(np.int32),
            version=np.full(len(role), NULL, np.int32),
            correlation=np.where(printed, key, NULL64),
            client=NameColumn(np.full(len(role), NULL, np.int32)),
            unsure=unsure,
            stepped=stepped,
            scope=NameColumn(np.where(printed, kinds.number, NULL), kinds.names),
            key=key,
            kind=kinds,
        )

    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """Reads one header with the reference implementation, `header.read_header`."""
        seen = read_header(prefix, from_client)
        header, command, wanted = seen
        if command is None:
            return HeaderView(header, stepped=header.role is Role.RAW)
        kind, key = make_key(seen, command) or (None, None)
        stepped = _is_special(command) or (key is None and header.role is Role.RESPONSE)
        stepped |= key is not None and key == 1 << 63
        stepped |= command.name == "PRODUCER_SUCCESS" and wanted[1] == 0
        stepped |= command.name == "CLOSE_PRODUCER" and not from_client
        stepped |= command.name == "SEND" and has_source_position(prefix)
        return HeaderView(header, key, kind, stepped)

    def steady(self, conversation: Conversation) -> bool:
        """Returns whether the fast path may take over: no geo-replicator sends, and nothing is in doubt."""
        assert isinstance(conversation, PulsarConversation)
        return not conversation.sources and not conversation.doubts and not conversation.closed

    def reporting(self, context: Context) -> Reporting | None:
        """Most commands have no field for an error, if they are what they begin as."""
        command = commands().get(context.code) if context.code is not None else None
        if command is None or command.error is not None or context.role is Role.RAW:
            return None
        return Reporting(HeaderLayout(INT32, INT32.size, (), (), whole=False), begin=(COMMAND_AT, command.begin))

    def may_answer(self, request: Column, answer: Column) -> Column | None:
        """Tells for n pairs of command types whether the second may answer the first.

        Reference: `conversation.can_answer`.
        """
        found: Column = _make_tables().fits[request, answer]
        return found


FAST_PATH = PulsarFastPath()


def _add_producers(kind: Column, sends: Column, producer: Column) -> NameColumn:
    """What numbers count in, for each row: SENDs and their receipts (rows `sends`) count for each producer."""
    names, places = _number_kinds()
    number = np.where(kind == places["send"], NULL, kind)
    producers, back = _find_distinct(producer[sends])
    number[sends] = len(names) + back
    return NameColumn(number, [*names, *(f"send:{each}/" for each in producers.tolist())])


def _find_distinct(values: Column) -> tuple[Column, Column]:
    """As np.unique with return_inverse; without sorting where values are small, as nearly all producers' ids are."""
    if not len(values) or int(values.max()) >= CODES:
        found, back = np.unique(values, return_inverse=True)
        return found, back
    small = values.astype(np.int64)
    found = np.flatnonzero(np.bincount(small, minlength=CODES))
    place = np.zeros(CODES, np.int64)
    place[found] = np.arange(len(found))
    return found, place[small]


def _read_ids(wire: Wire, code: Column, rows: Column) -> MessageIds:
    """Reads the wanted fields of some rows."""
    count, width = wire.view.shape
    found = MessageIds(np.zeros((IDS, count), np.uint64), np.zeros((IDS, count), bool), np.zeros(count, bool))
    cursor = _Cursor(
        found, code, np.minimum(wire.available, PREFIX), _make_tables().body[code], _make_tables().left[code]
    )
    cursor.show(np.arange(count), np.ascontiguousarray(wire.view))
    rows = cursor.enter(rows)
    for _ in range(MOST_WINDOWS):
        rows = cursor.read_fields(rows)
        if not len(rows):
            return found
        cursor.show(rows, wire.gather(rows, cursor.at[rows], width))
    found.unsure[rows] = True
    return found


class _Cursor:
    """Where each message is read: `at` from its first byte on, up to `end`, if not `edge` comes first.

    `flat` are the bytes at hand, in which the first byte of a message would be at `home`; they end where `reach` is.
    """

    def __init__(self, found: MessageIds, code: Column, edge: Column, at: Column, left: Column) -> None:
        self._found, self._code, self._edge, self.at, self._left = found, code, edge, at, left
        self._end, self._home, self._reach = np.zeros_like(at), np.zeros_like(at), np.zeros_like(at)
        self._flat = np.empty(0, np.uint8)

    def show(self, rows: Column, view: Column) -> None:
        """Gives the bytes of these messages from where they are read now; the first time, from their beginning."""
        begin = self.at[rows] if len(self._flat) else 0
        width = view.shape[1]
        self._flat = view.reshape(-1)
        self._home[rows] = np.arange(len(rows)) * width - begin
        self._reach[rows] = begin + width

    def enter(self, rows: Column) -> Column:
        """Passes the length of each body; returns the messages that have something in theirs."""
        size, width = _read_varints(self._flat, self._home[rows] + self.at[rows])
        self.at[rows] += width
        self._end[rows] = self.at[rows] + size.astype(np.int64)
        good = (width <= LONGEST_SIZE) & (self.at[rows] <= self._edge[rows])
        self._found.unsure[rows[~good]] = True
        return rows[good & (size > 0)]

    def read_fields(self, rows: Column) -> Column:
        """Reads field after field; returns the messages that need other bytes for that."""
        away = []
        for _ in range(MOST_FIELDS):
            reach = self._reach[rows]
            short = (self.at[rows] + LONGEST_FIELD > reach) & (reach < self._edge[rows])
            away.append(rows[short])
            rows = self._read_field(rows[~short])
            if not len(rows):
                break
        self._found.unsure[rows] = True
        return np.concatenate(away)

    def _read_field(self, rows: Column) -> Column:
        """Reads a field of each; returns the messages where one is to be read behind it."""
        found, at, code = self._found, self.at[rows], self._code[rows]
        index = self._home[rows] + at
        tag = self._flat.take(index, mode="clip")
        number, width = _read_varints(self._flat, index + 1)
        counts = tag & 7 == BYTES
        good = (tag < TAGS) & (counts & (width <= LONGEST_SIZE) | (tag & 7 == VARINT))
        good &= at + 1 + width <= self._edge[rows]
        place = _make_tables().place[code, tag & TAGS - 1]
        good &= (place < IDS) | (self._left[rows] == 1)  # a third one in front of the ids: no encoder writes that
        hit = np.flatnonzero(good & (place >= 0) & (place < IDS))
        those, places = rows[hit], place[hit]
        good[hit] &= ~found.there[places, those]
        found.value[places, those] = number[hit]
        found.there[places, those] = True
        self._left[those] -= 1
        at += 1 + width
        at[counts] += number[counts].astype(np.int64)
        self.at[rows] = at
        found.unsure[rows[~good]] = True
        on: Column = rows[good & (place < IDS) & (self._left[rows] > 0) & (at < self._end[rows])]
        return on


def _read_varints(flat: Column, index: Column) -> tuple[Column, Column]:
    """Varints at these places, and how many bytes each takes; TOO_LONG where it does not end."""
    byte = flat.take(index, mode="clip")
    number, width = (byte & 0x7F).astype(np.uint64), np.ones(len(index), np.int64)
    more = np.flatnonzero(byte > 0x7F)
    for passed in range(1, LONGEST_FIELD - 1):
        if not len(more):
            break
        byte = flat.take(index[more] + passed, mode="clip")
        number[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * passed)
        width[more] += 1
        more = more[byte > 0x7F]
    width[more] = TOO_LONG
    return number, width


def _may_have_source(wire: Wire, rows: Column) -> Column:
    """Which of these SENDs have a geo-replicator's property in their metadata, or metadata out of reach."""
    view, width = wire.view[rows], wire.view.shape[1]
    edge = np.minimum(wire.available[rows], PREFIX)
    begin = COMMAND_AT + be(view, 4, "u4").astype(np.int64)
    unsure: Column = begin + CHECKSUM_SIZE + 4 > np.minimum(edge, width)
    home = np.arange(len(rows)) * width
    flat = view.reshape(-1)

    def byte(number: int) -> Column:
        found: Column = flat.take(home + np.where(unsure, 0, begin) + number, mode="clip").astype(np.int64)
        return found

    checked = (byte(0) == CHECKSUM_MAGIC[0]) & (byte(1) == CHECKSUM_MAGIC[1])
    begin += np.where(checked, CHECKSUM_SIZE, 0)
    size = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3)
    begin += 4
    unsure |= begin + size > edge
    for least, most in pairwise((len(SOURCE_POSITION) - 1, *SEARCHED)):
        alike = np.flatnonzero(~unsure & (size > least) & (size <= most))
        for first in range(0, len(alike), AT_ONCE // most):
            some = alike[first : first + AT_ONCE // most]
            data = wire.gather(rows[some], begin[some], most).tobytes()
            if SOURCE_POSITION in data:
                unsure[some] = True
    return unsure
