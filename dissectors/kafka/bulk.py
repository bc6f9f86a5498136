"""Kafka's headers for many messages at once, and its queue: the bulk twin of Kafka.header and KafkaConversation.

tests/dissectors/kafka/test_bulk.py holds the twins equal. Requests stand at fixed offsets up to the client id; whether
a Produce wants an answer is a little further on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from dissectors.api import Conversation, MessageHeader, Role, State
from dissectors.kafka.conversation import GROUP, JOIN_GROUP, SASL_HANDSHAKE, KafkaConversation
from dissectors.kafka.header import ENVELOPE, NEWER
from dissectors.kafka.schemas import apis
from dissectors.pairing import Waiting
from dissectors.wire.bulk import NULL, BulkHeaders, Column, be

WIDTH = 96
NOTED = (*GROUP, ENVELOPE)
FACTORS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, WIDTH // 8 + 2)], np.uint64)
"""Odd multipliers of a hash; any will do, for equal hashes are compared."""

PRODUCE, CONTROLLED_SHUTDOWN = 0, 7
HEADER = 14
"""Bytes before the client id: length, API key, version, correlation id, the client id's length."""


def operations() -> Sequence[str]:
    """Operation names by API key."""
    return [apis()[key].name for key in range(len(apis()))]


def headers(view: Column, available: Column, from_client: Column) -> BulkHeaders:
    """Twin: Kafka.header. Rows too short for a header, and what needs a closer look, are `unsure`."""
    key, version = be(view, 4, "i2").astype(np.int32), be(view, 6, "i2").astype(np.int32)
    size = be(view, 12, "i2").astype(np.int64)
    least, most = _ranges()
    known = (key >= 0) & (key < len(most))
    index = np.where(known, key, 0)
    state = np.where(known & (version >= least[index]), State.COMPLETE, State.UNDECODED)
    state[known & (version > most[index])] = State.GUESSED
    state[known & (version > most[index] + NEWER)] = State.UNDECODED
    unsure = from_client & ((available < HEADER + np.maximum(size, 0)) | (HEADER + size > WIDTH) | (size < -1) | ~known)
    unsure |= ~from_client & (available < 8)
    unsure |= (key == CONTROLLED_SHUTDOWN) & (version == 0) & from_client
    client, clients = _clients(view, size, from_client & ~unsure)
    role = np.where(from_client, Role.REQUEST, Role.RESPONSE).astype(np.int8)
    produce = np.flatnonzero(from_client & ~unsure & (key == PRODUCE) & (state != State.UNDECODED))
    unsure[produce] |= _silent(view, available, size, version, produce, role)
    return BulkHeaders(
        role=role,
        state=np.where(from_client, state, State.GUESSED).astype(np.int8),
        code=np.where(from_client, key, NULL).astype(np.int32),
        version=np.where(from_client, version, NULL).astype(np.int32),
        correlation=np.where(from_client, be(view, 8, "i4"), be(view, 4, "i4")).astype(np.int64),
        client=client,
        clients=clients,
        unsure=unsure,
        stepped=from_client & ((key == SASL_HANDSHAKE) | (state != State.COMPLETE)),
    )


@cache
def _ranges() -> tuple[Column, Column]:
    """Lowest and highest version that the tables know, by API key."""
    ranges = [apis()[key].versions for key in range(len(apis()))]
    return np.array([each.low for each in ranges]), np.array([each.high for each in ranges])


def _clients(view: Column, size: Column, wanted: Column) -> tuple[Column, list[str]]:
    """Client ids as numbers of a list. Most are their neighbour's; of others equal hashes are compared, not trusted."""
    numbers = np.full(len(view), NULL, np.int32)
    rows = np.flatnonzero(wanted & (size >= 0))
    if not len(rows):
        return numbers, []
    sizes = size[rows]
    width = -(-(int(sizes.max()) + 1) // 8) * 8
    text = np.zeros((len(rows), width), np.uint8)
    text[:, : WIDTH - HEADER] = view[:, HEADER : HEADER + width][rows]
    text *= np.arange(width) < sizes[:, None]
    words = text.view(np.uint64)
    changed = np.ones(len(rows), bool)
    changed[1:] = (words[1:] != words[:-1]).any(axis=1) | (sizes[1:] != sizes[:-1])
    words, sizes, text = words[changed], sizes[changed], text[changed]
    hashes = (words * FACTORS[: words.shape[1]]).sum(axis=1, dtype=np.uint64) + sizes.astype(np.uint64)
    _, first, back = np.unique(hashes, return_index=True, return_inverse=True)
    if (words != words[first][back]).any() or (sizes != sizes[first][back]).any():
        _, first, back = np.unique(np.column_stack((words, sizes)), axis=0, return_index=True, return_inverse=True)
    numbers[rows] = back.reshape(-1)[np.cumsum(changed) - 1]
    samples = [bytes(text[row, : sizes[row]]) for row in first.tolist()]
    return numbers, [sample.decode("utf-8", "replace") for sample in samples]


def _silent(view: Column, available: Column, size: Column, version: Column, rows: Column, role: Column) -> Column:
    """Marks Produce requests with acks=0 as one-way in `role`; returns which of `rows` could not be told."""
    at = HEADER + np.maximum(size[rows], 0)
    edge = np.minimum(available[rows], WIDTH)
    data, kind = view[rows], version[rows]
    each = np.arange(len(rows))

    def byte(place: Column) -> Column:
        found: Column = data[each, np.minimum(place, WIDTH - 1)].astype(np.int64)
        return found

    plain, compact = (kind >= 3) & (kind < 9), kind >= 9
    length = (byte(at) << 8 | byte(at + 1)) & 0x7FFF
    length[byte(at) >= 0x80] = 0
    skipped = np.where(plain, 2 + length, 0)
    skipped = np.where(compact, 2 + np.maximum(byte(at + 1) - 1, 0), skipped)
    unsure: Column = compact & ((byte(at) != 0) | (byte(at + 1) >= 0x80))
    unsure |= at + skipped + 2 > edge
    silent = (byte(at + skipped) == 0) & (byte(at + skipped + 1) == 0)
    role[rows[silent & ~unsure]] = Role.ONEWAY
    return unsure


def steady(conversation: Conversation) -> bool:
    """Not inside a SASL exchange of bare tokens, and no answer on its way that changes what follows."""
    assert isinstance(conversation, KafkaConversation)
    if conversation.tokens or conversation.waiting_tokens or not conversation.begun:
        return False
    return all(each.header.code != SASL_HANDSHAKE and each.header.state == 0 for each in conversation.waiting)


def notes(
    conversation: Conversation, messages: Sequence[tuple[int, int, int]], prefix: Callable[[int], bytes]
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


def waiting(conversation: Conversation) -> list[tuple[int, MessageHeader]]:
    """The queue, oldest first."""
    assert isinstance(conversation, KafkaConversation)
    return list(conversation.waiting)


def resume(conversation: Conversation, waiting: list[tuple[int, MessageHeader]]) -> None:
    """Replaces the queue."""
    assert isinstance(conversation, KafkaConversation)
    conversation.waiting.clear()
    conversation.asked.clear()
    for each in waiting:
        conversation.ask(Waiting(*each))
