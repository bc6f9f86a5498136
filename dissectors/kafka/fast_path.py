"""Kafka's headers for many messages at once, and its queue: the fast path of Kafka.header and KafkaConversation.

tests/dissectors/kafka/test_fast_path.py compares the fast paths with the slow path. The fields of a request are at
fixed offsets up to the client id; the acks of a Produce are a little behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from dissectors.api import PREFIX, Context, Conversation, Role, State
from dissectors.kafka.conversation import (
    GROUP,
    JOIN_GROUP,
    SASL,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    KafkaConversation,
)
from dissectors.kafka.header import ENVELOPE, NEWER, request_header, response_header
from dissectors.kafka.reading import API_VERSIONS, body_plan, has_variants
from dissectors.kafka.schemas import apis, header_version, load_named_schema
from dissectors.wire.fast_path import (
    NULL,
    AnsweredRequests,
    Carried,
    Column,
    FastPath,
    HeaderColumns,
    HeaderLayout,
    HeaderView,
    InnerReader,
    LogFields,
    LogRecords,
    Logs,
    NameColumn,
    Reporting,
    Rules,
    Wire,
    be,
)
from dissectors.wire.plan import Leaf, resolve
from dissectors.wire.primitive import INT32

WIDTH = 16
"""Of an answer, which half of all messages are, eight are needed; more of a request is read once it is known as one."""

HEADER = 14
"""Bytes before the client id: length, API key, version, correlation id, the client id's length."""

WORDS = 10
"""Of eight bytes, that a client id may have."""

FACTORS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, WORDS + 1)], np.uint64)
"""Odd multipliers of a hash; any will do, for equal hashes are compared."""

PRODUCE, CONTROLLED_SHUTDOWN = 0, 7


class KafkaFastPath(FastPath):
    """Kafka.header and KafkaConversation for many messages."""

    WIDTH = WIDTH
    NOTED = (*GROUP, ENVELOPE)
    RULES = Rules(in_order=True)

    def headers(self, wire: Wire) -> HeaderColumns:
        """Reads the headers of n messages. Rows that are too short, or that need the slow path, are `unsure`."""
        view, available, from_client, gather = wire
        key, version, size = be(view, 4, "i2"), be(view, 6, "i2"), be(view, 12, "i2")
        known = (key >= 0) & (key < len(apis()))
        states = _states()
        state = states[np.where(known, key, -1), np.clip(version, -1, states.shape[1] - 2) + 1]
        unsure = available < HEADER + np.maximum(size, 0, dtype=np.int64)
        unsure = from_client & (unsure | (size > 8 * WORDS) | (size < -1) | ~known)
        unsure |= ~from_client & (available < 8)
        unsure |= (key == CONTROLLED_SHUTDOWN) & (version == 0) & from_client
        role = np.where(from_client, np.int8(Role.REQUEST), np.int8(Role.RESPONSE))
        produce = np.flatnonzero(from_client & ~unsure & (key == PRODUCE) & (state != State.UNDECODED))
        silent, untold = _silent(wire, size, version, produce)
        role[produce[silent]] = Role.ONEWAY
        unsure[produce[untold]] = True
        code = np.where(from_client, key, np.int32(NULL))
        return HeaderColumns(
            role=role,
            state=np.where(from_client, state, np.int8(State.GUESSED)),
            operation=NameColumn(np.where(known, code, np.int32(NULL)), _operations()),
            code=code,
            version=np.where(from_client, version, np.int32(NULL)),
            correlation=np.where(from_client, be(view, 8, "i4"), be(view, 4, "i4")).astype(np.int64),
            client=_clients(gather, size, from_client & ~unsure),
            unsure=unsure,
            stepped=from_client & ((key == SASL_HANDSHAKE) | (key == SASL_AUTHENTICATE) | (state != State.COMPLETE)),
        )

    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """Reads a header. Incomplete headers and SASL change how later messages are read, so they are marked."""
        header = request_header(prefix) if from_client else response_header(prefix)
        unusual = header.state is not State.COMPLETE or header.correlation is None or header.code in SASL
        return HeaderView(header, header.correlation, None, from_client and unusual)

    def steady(self, conversation: Conversation) -> bool:
        """Returns whether the fast path can go on.

        It can, unless bare SASL tokens may come or a pending answer changes the meaning of later messages.
        """
        assert isinstance(conversation, KafkaConversation)
        if conversation.tokens or conversation.waiting_tokens or not conversation.begun:
            return False
        return all(each.header.code not in SASL and each.header.state == 0 for each in conversation.waiting)

    def notes(
        self, conversation: Conversation, messages: Sequence[tuple[int, int, int]], prefix: Callable[[int], bytes]
    ) -> dict[int, Mapping[str, str]]:
        """The kind of group, for JoinGroup, SyncGroup and their responses; what an Envelope holds, for its response."""
        assert isinstance(conversation, KafkaConversation)
        found = {}
        for row, role, code in messages:
            response = role == Role.RESPONSE
            begin = prefix(row) if code == ENVELOPE or (code == JOIN_GROUP and not response) else b""
            version = int.from_bytes(begin[6:8], "big", signed=True) if begin and not response else None
            extra = conversation.note(code, version, begin)
            if extra is not None:
                found[row] = extra
        return found

    def layout(self, context: Context) -> HeaderLayout | None:
        """Returns the usual layout of a message; None for an answer to ApiVersions, whose bytes decide its version."""
        if context.role is Role.RESPONSE and context.code == API_VERSIONS:
            return None
        return _usual(context)

    def reporting(self, context: Context) -> Reporting | None:
        """Returns how to find the errors in responses that have the usual layout."""
        layout = _usual(context)
        return None if layout is None else Reporting(layout)

    def logs(self, context: Context) -> Logs | None:
        """Produce and answers to Fetch and ShareFetch, by the usual layout."""
        layout = _usual(context)
        if layout is None:
            return None
        from dissectors.kafka.records.fast_path import logs  # for tables of records alone

        return logs(context, layout)

    def inner(self, leaf: Leaf) -> InnerReader | None:
        """Returns the headers of the batches in a records field."""
        from dissectors.kafka.records.fast_path import HEADER_READER  # for reports alone

        return HEADER_READER if leaf.primitive.type.endswith("records") else None

    def read_log_records(self, fields: LogFields) -> Iterator[LogRecords]:
        """Reads the records of many messages, in runs of messages whose batches are read together."""
        from dissectors.kafka.records.fast_path import iterate_record_columns  # the same

        return iterate_record_columns(fields)

    def guess_hints(self, messages: Sequence[bytes]) -> Sequence[Mapping[str, str]]:
        """Guesses what answers may be, those with the same body once."""
        from dissectors.kafka.guessing.fast_path import guess_many  # hardly a capture has answers without requests
        from dissectors.kafka.guessing.guess import format_hints

        found = guess_many(messages)
        distinct = {id(each): each for each in found}
        hints = {number: format_hints(each) for number, each in distinct.items()}
        return [hints[id(each)] for each in found]

    def waiting(self, conversation: Conversation) -> list[Carried]:
        """Returns the queue of unanswered requests, oldest first."""
        assert isinstance(conversation, KafkaConversation)
        return [((True, None, each.header.correlation or 0), each) for each in conversation.waiting]

    def resume(self, conversation: Conversation, waiting: Sequence[Carried], answered: AnsweredRequests) -> None:
        """Replaces the queue of unanswered requests."""
        assert isinstance(conversation, KafkaConversation)
        conversation.waiting.clear()
        conversation.waiting_counts.clear()
        for _, each in waiting:
            conversation.ask(each)


@cache
def _operations() -> Sequence[str]:
    """Operation names by API key."""
    return [apis()[key].name for key in range(len(apis()))]


@cache
def _states() -> Column:
    """The state of requests (int8) by API key, the last row for all others, and by version + 1.

    The first column is for all negative versions, the last for all that are higher than any that is a guess.
    """
    ranges = [apis()[key].versions for key in range(len(apis()))]
    beyond = max(each.high for each in ranges) + NEWER + 1
    states = np.full((len(ranges) + 1, beyond + 2), State.UNDECODED, np.int8)
    for row, each in zip(states, ranges, strict=False):
        row[each.low + 1 : each.high + 2] = State.COMPLETE
        row[each.high + 2 : each.high + NEWER + 2] = State.GUESSED
    return states


def _clients(gather: Callable[[Column, Column, int], Column], size: Column, wanted: Column) -> NameColumn:
    """Client ids as numbers of a list. Most are their neighbour's; of others equal hashes are compared, not trusted."""
    numbers = np.full(len(size), NULL, np.int32)
    rows = np.flatnonzero(wanted & (size >= 0))
    if not len(rows):
        return NameColumn(numbers)
    sizes = size[rows]
    count = max(-(-int(sizes.max()) // 8), 1)
    words = gather(rows, np.full(len(rows), HEADER), 8 * count).view("<u8")
    words &= np.take(_masks()[:, :count], sizes, axis=0)
    changed = np.ones(len(rows), bool)
    changed[1:] = sizes[1:] != sizes[:-1]
    for word in range(count):
        changed[1:] |= words[1:, word] != words[:-1, word]
    words, sizes = np.ascontiguousarray(words[changed]), sizes[changed]
    hashes = (words * FACTORS[: words.shape[1]]).sum(axis=1, dtype=np.uint64) + sizes.astype(np.uint64)
    _, first, back = np.unique(hashes, return_index=True, return_inverse=True)
    if (words != words[first][back]).any() or (sizes != sizes[first][back]).any():
        _, first, back = np.unique(np.column_stack((words, sizes)), axis=0, return_index=True, return_inverse=True)
    numbers[rows] = back.reshape(-1)[np.cumsum(changed) - 1]
    samples = [words[row].tobytes()[: sizes[row]] for row in first.tolist()]
    return NameColumn(numbers, [sample.decode("utf-8", "replace") for sample in samples])


@cache
def _masks() -> Column:
    """For each length of a client id what of its words belongs to it."""
    lengths = np.arange(8 * WORDS + 1)
    inside = np.arange(8 * WORDS) < lengths[:, None]
    return (inside * np.uint8(0xFF)).view("<u8")


def _silent(wire: Wire, size: Column, version: Column, rows: Column) -> tuple[Column, Column]:
    """Which of `rows`, Produce requests, have acks=0, so that nobody answers them, and of which it cannot be told."""
    at = HEADER + np.maximum(size[rows], 0, dtype=np.int64)
    kind = version[rows]
    head = wire.gather(rows, at, 2)
    plain, compact = (kind >= 3) & (kind < 9), kind >= 9
    length = be(head, 0, "i2").astype(np.int64)
    skipped = np.where(plain, 2 + np.maximum(length, 0), 0)
    skipped = np.where(compact, 2 + np.maximum(head[:, 1].astype(np.int64) - 1, 0), skipped)
    # Tagged fields, and a transactional id of a length of two bytes, are rare.
    untold: Column = compact & ((head[:, 0] != 0) | (head[:, 1] >= 0x80))
    untold |= at + skipped + 2 > np.minimum(wire.available[rows], PREFIX)
    silent: Column = np.zeros(len(rows), bool)
    known = np.flatnonzero(~untold)
    silent[known] = be(wire.gather(rows[known], (at + skipped)[known], 2), 0, "i2") == 0
    return silent, untold


FAST_PATH = KafkaFastPath()


def _usual(context: Context) -> HeaderLayout | None:
    """The usual layout of header and body; None where a version has another beside it, for then the bytes decide."""
    key, version, response = context.code, context.version, context.role is Role.RESPONSE
    if key is None or version is None or context.role is Role.RAW or has_variants(key, version, response):
        return None
    plan = body_plan(key, version, response)
    if plan is None or plan.version != version:
        return None
    header = load_named_schema("ResponseHeader" if response else "RequestHeader")
    return HeaderLayout(INT32, INT32.size, resolve(header, header_version(key, version, response)).steps, plan.steps)
