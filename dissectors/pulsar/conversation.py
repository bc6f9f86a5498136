"""Pairing on a Pulsar connection.

Theory. One connection carries many producers and consumers, and answers come in any order. Most requests carry a
request id, which the answer repeats. A SEND is identified by its producer and sequence id, a watch of the 5.0 commands
by an id of its own; the first update for a watch is its answer. The handshake and PING have no number and are answered
in order. All chunks of a message, and all markers of a geo-replicator, share one sequence id and are also answered in
order. An ACK without request id is not answered.

If a broker cannot name the request, its ERROR has the id 2^64-1, which stands for the CONNECT. A PRODUCER that has to
wait for its turn gets two answers: PRODUCER_SUCCESS with producer_ready false, and one when it may send.

A producer that the broker closes may be created again on its connection, with the same number. It sends messages
without a receipt again, with their old sequence ids. A receipt then belongs to the latest SEND.

Missing bytes may contain answers, and nothing tells which. Requests with a unique number are not affected. Answers in
order would be shifted for ever. So of several requests that waited under one number when bytes were lost, none gets an
answer, and a single one only until its number is used again. Where the requests' own side lost bytes, chunks may be
among them: a chunk then waits only behind the one before it.

A geo-replicator's message tells its position in the source cluster, and brokers that deduplicate by it (feature flag
supports_repl_dedup_by_lid_and_eid) repeat this position in the receipt, not the sequence id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TypeAlias

from dissectors.api import Conversation, Outcome, Role, State
from dissectors.pairing import MOST_WAITING, Key, UnansweredRequests, Waiting
from dissectors.pulsar.commands import Command, commands
from dissectors.pulsar.frame import find_fragment, is_cut
from dissectors.pulsar.header import COMMAND_AT, FrameHeader, read_header

SOURCE_POSITION = b"__MSG_PROP_REPL_SOURCE_POSITION"
CHECKSUM_MAGIC, CHECKSUM_SIZE = b"\x0e\x01", 6
"""What may stand between a SEND's command and the size of its metadata."""

NUMBERED = frozenset(("request", "send"))
"""Counts whose number is a header's correlation."""

IN_TURN = frozenset(("connect", "auth", "ping"))
"""Counts without a number: answers come in order."""

_DIGITS = frozenset(b"0123456789")
_MOST_DIGITS = 20

MOST_PENDING = 1000
"""The latest questions among which the SENDs of a producer without a receipt are looked for: as many as a client keeps
(maxPendingMessages), and as a broker takes of a connection (maxPendingPublishRequestsPerConnection).
"""

LASTING = 1024
"""Messages behind a loss, or a producer's end, after which no answer to what was sent in order before is expected."""

Position: TypeAlias = tuple[int, int, int]
"""Producer id, and ledger and entry id in the source cluster."""


@dataclass(slots=True)
class PulsarConversation(UnansweredRequests, Conversation):
    """`client`: the version that the client named itself by; `sources`: sequence ids of what a replicator sent.

    closed: producers that the broker has closed, the first of them first, and up to which turn their SENDs are waited
    for. doubts: by asking side the first handle behind a loss of answers, None until there is one, and the turn up to
    which the doubt lasts. turn: messages that were counted for these two.
    """

    client: str | None = None
    sources: OrderedDict[Position, int] = field(default_factory=OrderedDict)
    closed: dict[int, int] = field(default_factory=dict)
    doubts: dict[bool, tuple[int | None, int]] = field(default_factory=dict)
    turn: int = 0
    chunks: OrderedDict[Key, int] = field(default_factory=OrderedDict)

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Pairs a command: a request waits under side and number, an answer takes the oldest under its own."""
        seen = read_header(prefix, from_client, self.client)
        header, command, _ = seen
        self.client = header.client
        if self.doubts or self.closed:
            self._expire_doubts(handle)
        if command is None or command.counts is None:
            return Outcome(header)
        if header.role is Role.REQUEST:
            key = make_key(seen, command)
            if key is not None and command.name == "SEND" and not self._follows_last_chunk((from_client, *key), prefix):
                return Outcome(header, owed=False)
            if key is not None:
                self._remember_question((from_client, *key), Waiting(handle, header), seen)
                if command.name == "SEND" and has_source_position(prefix):
                    self._note_source(seen, prefix)
            return Outcome(header)
        if header.role is not Role.RESPONSE and not command.answers:
            if command.name == "CLOSE_PRODUCER" and seen.wanted[1] is not None and len(self.closed) < MOST_PENDING:
                self.closed.setdefault(seen.wanted[1], self.turn + LASTING)
            return Outcome(header)
        request = self._find_question(seen, command, not from_client)
        if request is not None:
            if command.answers:
                header = replace(header, role=Role.RESPONSE)
            return Outcome(header, request.handle)
        return Outcome(header if command.answers else replace(header, state=State.GUESSED))

    def note_loss(self, from_client: bool) -> None:
        """Answers to the other side may be missing."""
        self.doubts[not from_client] = None, self.turn + LASTING

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replaces the handles of waiting requests after rows were renumbered."""
        for asker, (edge, last) in list(self.doubts.items()):
            if edge is not None:
                older = [numbers[handle] for handle in self.handles() if handle < edge]
                self.doubts[asker] = max(older, default=min(numbers.values(), default=0) - 1) + 1, last
        UnansweredRequests.renumber(self, numbers)

    def _remember_question(self, key: Key, request: Waiting, seen: FrameHeader) -> None:
        """A question; what waited under its number in doubt, or of its producer before this one, waits no more."""
        edge = self._find_doubt_edge(key)
        if edge is not None:
            self._forget(key, edge)
        if request.header.operation == "PRODUCER" and self.closed.pop(seen.wanted[1], None) is not None:
            self._end_producer(seen.wanted[1])
        self.remember(key, request)

    def _follows_last_chunk(self, key: Key, prefix: bytes) -> bool:
        """Whether a SEND is surely no chunk, the first one, or the next one of those that were seen in a row."""
        if (not key[0]) not in self.doubts:
            return True
        chunk = find_fragment(prefix)
        if chunk is None:
            return not is_cut(prefix)
        last = self.chunks.pop(key, -1)
        if chunk.number and chunk.number != last + 1:
            return False
        self.chunks[key] = chunk.number
        if len(self.chunks) > MOST_PENDING:
            self.chunks.popitem(last=False)
        return True

    def _end_producer(self, producer: int) -> None:
        """No receipt comes any more to what a producer has sent."""
        begin = True, f"send:{producer}/"
        for key in [each for each in islice(reversed(self.waiting), MOST_PENDING) if each[:2] == begin]:
            while self.claim(key) is not None:
                pass

    def _find_doubt_edge(self, key: Key) -> int | None:
        """The first handle behind which nothing under a key is in doubt; None where there is no doubt at all."""
        return self.doubts[key[0]][0] if key[0] in self.doubts and _is_answered_in_order(key) else None

    def _forget(self, key: Key, edge: int) -> None:
        """Questions before a handle wait no more under a key."""
        while self.claim(key, lambda each: each.handle < edge) is not None:
            pass

    def _expire_doubts(self, handle: int) -> None:
        """Counts on, and ends what has lasted long enough."""
        self.turn += 1
        while self.closed and next(iter(self.closed.values())) < self.turn:
            producer = next(iter(self.closed))
            del self.closed[producer]
            self._end_producer(producer)
        for asker, (edge, last) in list(self.doubts.items()):
            edge = handle if edge is None else edge
            self.doubts[asker] = edge, last
            if last < self.turn:
                del self.doubts[asker]
                for key in [each for each in self.waiting if each[0] == asker and _is_answered_in_order(each)]:
                    self._forget(key, edge)

    def _find_question(self, seen: FrameHeader, command: Command, asker: bool) -> Waiting | None:
        """The question that a message answers."""
        numbered = make_key(seen, command)
        if numbered is None:
            return self.claim((asker, "connect", 0)) if command.name == "ERROR" else None
        key: Key = (asker, *numbered)
        fits = partial(_can_answer, command.name)
        if command.name == "PRODUCER_SUCCESS" and seen.wanted[1] == 0:
            return self.oldest(key, fits)
        if command.name == "SEND_RECEIPT" and self.sources:
            producer, ledger, entry = seen.wanted
            sequence = self.sources.pop((producer, ledger, entry), None)
            if sequence is not None:
                key = (asker, seen.header.scope, sequence)
        edge = self._find_doubt_edge(key)
        if edge is not None:
            self._drop_doubtful(key, edge)
        return self.claim(key, fits)

    def _drop_doubtful(self, key: Key, edge: int) -> None:
        """Of several questions under one number that were in doubt nobody knows which is answered."""
        doubtful = [each for each in islice(self.waiting.get(key, ()), 2) if each.handle < edge]
        if len(doubtful) > 1:
            self._forget(key, edge)

    def _note_source(self, seen: FrameHeader, prefix: bytes) -> None:
        """Remembers by which position a replicator's message will be acknowledged."""
        ledger, colon, entry = _read_source(prefix).partition(b":")
        if not colon or not _is_number(ledger) or not _is_number(entry):
            return
        producer, sequence = seen.wanted
        self.sources[producer, int(ledger), int(entry)] = sequence
        if len(self.sources) > MOST_WAITING:
            self.sources.popitem(last=False)


def make_key(seen: FrameHeader, command: Command) -> tuple[str | None, int] | None:
    """Returns the kind and the number of a request or answer, by which they pair; None without a number."""
    header, number = seen.header, seen.wanted[0] if seen.wanted else None
    if command.counts in NUMBERED:
        return None if header.correlation is None else (header.scope, header.correlation)
    if command.counts in IN_TURN:
        return command.counts, 0
    return None if number is None else (command.counts, number)


def _is_answered_in_order(key: Key) -> bool:
    """Whether what waits under a key may share it with others, and is answered in order."""
    return key[1] is not None and (key[1] in IN_TURN or key[1].startswith("send:"))


def _can_answer(name: str, request: Waiting) -> bool:
    return can_answer(name, request.header.code)


def can_answer(name: str, code: int | None) -> bool:
    """Returns whether a command of that name answers a type: clients use an id again, and an answer may be lost."""
    request = commands().get(code) if code is not None else None
    return name == "ERROR" or request is None or not request.answered_by or name in request.answered_by


def has_source_position(prefix: bytes) -> bool:
    """Returns whether the metadata of a SEND has the property of a geo-replicator, as far as these bytes go."""
    return _find_source(prefix) >= 0


def _find_source(prefix: bytes) -> int:
    begin = COMMAND_AT + int.from_bytes(prefix[4:COMMAND_AT])
    if prefix.startswith(CHECKSUM_MAGIC, begin):
        begin += CHECKSUM_SIZE
    size = int.from_bytes(prefix[begin : begin + 4])
    return prefix.find(SOURCE_POSITION, begin + 4, begin + 4 + size)


def _read_source(prefix: bytes) -> bytes:
    """The value of that property, a KeyValue whose field 2 stands behind its name; empty where it does not."""
    at = _find_source(prefix) + len(SOURCE_POSITION)
    if prefix[at : at + 1] != b"\x12" or len(prefix) < at + 2:
        return b""
    return prefix[at + 2 : at + 2 + prefix[at + 1]]


def _is_number(text: bytes) -> bool:
    return 0 < len(text) <= _MOST_DIGITS and _DIGITS.issuperset(text)
