"""Finds the records fields of many messages with one walk along their layout.

Theory. A protocol's fast path says which fields of a message hold records, and which earlier fields hold their topic
and partition (dissectors.wire.fast_path.Logs). All messages of a kind are walked together (analyzer.query.projection).
The walk gives the places of these fields and reads little more than their lengths. A topic stands before its records,
so the last topic before a records field is that field's topic. The message's own decoder reads every message that does
not fit its layout from beginning to end. The bytes of several messages are then joined, and their records are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analyzer.capture.store import Store
from analyzer.columns.arrays import Array, Bools, Ints, decode_null, iterate_groups, make_group_keys, rank_in_runs
from analyzer.decode.multi_segment import MultiSegmentReader, locate_messages
from analyzer.query.projection import decode_number, walk_layout
from analyzer.session import Analysis
from dissectors.api import Context, Role, State
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.fast_path import FastPath, LogFields, Logs
from dissectors.wire.plan import Leaf, Step, Tags, inside, leaves_of
from dissectors.wire.primitive import FixedWidth

PADDING = bytes(64)
"""What follows the last message."""

_KIND = ("role", "code", "version")


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Records fields of some messages, in order: message, place in it, size, topic (a number in `topics`), partition.

    left: messages without any here, for their own decoder has to tell.
    """

    message: Ints
    at: Ints
    size: Ints
    topic: Ints
    partition: Ints
    topics: list[str]
    left: Bools


def find_record_fields(session: Analysis, fast_path: FastPath, rows: Ints, named: Callable[[str], str]) -> RecordFields:
    """Returns the fields of these rows, all of one protocol. named: the name of a topic whose id others explain."""
    table = session.rows
    numbers, keys = make_group_keys([table.column(name)[rows] for name in _KIND])
    kinds = [_find_log_layout(fast_path, *kind) for kind in zip(*(column.tolist() for column in numbers), strict=True)]
    left = np.array([kind is None for kind in kinds], bool)[keys] | (table.column("state")[rows] != State.COMPLETE)
    length = table.column("length")[rows].astype(np.int64)
    topics: dict[str, int] = {}
    columns = [np.zeros((5, 0), np.int64)]
    for key, places in iterate_groups(keys):
        kind, mine = kinds[key], places[~left[places]]
        if kind is None:
            continue
        for which, source, at in locate_messages(session, rows[mine], 1):
            those = mine[which]
            collector = _FieldCollector(kind)
            good = walk_layout(kind.layout, source, at, length[those], collector)
            left[those[~good]] = True
            (message, begin, *rest), odd = _resolve_fields(source, kind, collector, good, topics, named)
            left[those[odd]] = True
            columns.append(np.stack((those[message], begin - at[message], *rest)))
    found = np.concatenate(columns, axis=1)
    found = found[:, ~left[found[0]]]
    message, begin, size, topic, partition = found[:, np.lexsort(found[1::-1])]
    return RecordFields(message, begin, size, topic, partition, list(topics), left)


def read_record_fields(session: Analysis, rows: Ints, found: RecordFields, first: int, stop: int) -> LogFields:
    """The fields of the messages `first` to before `stop` of `rows`, numbered from 0, with the bytes of these."""
    some = slice(*np.searchsorted(found.message, (first, stop)).tolist())
    message = found.message[some] - first
    table, pieces = session.rows, session.engine.pieces
    wanted = np.zeros(stop - first, bool)
    wanted[message] = True
    mine = rows[first:stop]
    length = np.where(wanted, table.column("length")[mine], 0).astype(np.int64)
    mine = mine[wanted]
    count = table.column("count")[mine].astype(np.int64)
    piece = np.repeat(table.column("pieces")[mine].astype(np.int64), count) + rank_in_runs(count)
    data = session.source.store.read_joined(pieces.column("at")[piece], pieces.column("length")[piece], PADDING)
    return LogFields(data, message, found.at[some] + (np.cumsum(length) - length)[message], found.size[some], length)


def _find_log_layout(fast_path: FastPath, role: int, code: int, version: int) -> Logs | None:
    return fast_path.logs(Context(Role(role), decode_null(code), decode_null(version)))


class _FieldCollector:
    """Sees the fields that tell of records, and all texts; what is in tagged sections must not be there."""

    def __init__(self, logs: Logs) -> None:
        self._odd = {leaf for step in logs.layout.steps for leaf in _list_tagged_leaves(step)}
        texts = {leaf for leaf in leaves_of(logs.layout.steps) if _is_text(leaf)}
        self.texts = texts - self._odd
        self._wanted = {logs.topic, logs.partition, logs.records, *self.texts, *self._odd}
        self._seen: dict[Leaf, list[Array]] = {leaf: [] for leaf in self._wanted}

    def is_wanted(self, leaf: Leaf) -> bool:
        """Returns whether the places of a field are kept."""
        return leaf in self._wanted

    def visit_leaf(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> None:
        """Keeps the message, place and size (below zero for null) of each value of a field."""
        width = leaf.primitive.size
        self._seen[leaf].append(np.stack((rows, at, np.full(len(at), width) if size is None else size)))

    def list_fields(self, leaf: Leaf, good: Bools) -> tuple[Ints, Ints, Ints]:
        """Message, place and size (below zero: null) of a field in good messages, by place."""
        found = np.concatenate([np.zeros((3, 0), np.int64), *self._seen[leaf]], axis=1)
        found = found[:, good[found[0]]]
        rows, at, size = found[:, np.argsort(found[1])]
        return rows, at, size


def _list_tagged_leaves(step: Step) -> Iterator[Leaf]:
    """The leaves of a step that stand in tagged sections."""
    if isinstance(step, Tags):
        yield from leaves_of(inside(step))
    else:
        for each in inside(step):
            yield from _list_tagged_leaves(each)


def _is_text(leaf: Leaf) -> bool:
    return isinstance(leaf.primitive, SizedBytes) and leaf.primitive.convert is bytes.decode


def _resolve_fields(
    source: Store | MultiSegmentReader,
    logs: Logs,
    collector: _FieldCollector,
    good: Bools,
    topics: dict[str, int],
    named: Callable[[str], str],
) -> tuple[Array, Ints]:
    """Message, place, size, topic and partition of each field with records; and messages that are left after all.

    Messages are those that were walked.
    """
    left = [_find_invalid_texts(source, *collector.list_fields(leaf, good)) for leaf in collector.texts]
    message, at, size = collector.list_fields(logs.records, good)
    is_nonempty = size > 0
    message, at, size = message[is_nonempty], at[is_nonempty], size[is_nonempty]
    _, topic_at, topic_size = collector.list_fields(logs.topic, good)
    _, partition_at, _ = collector.list_fields(logs.partition, good)
    used, which = np.unique(np.searchsorted(topic_at, at) - 1, return_inverse=True)
    length = topic_size[used]
    there = source.read_many(topic_at[used], np.maximum(length, 0))
    topic_names = [None if size < 0 else each for size, each in zip(length.tolist(), there, strict=True)]
    numbers = {each: _number_topic(each, logs, topics, named) for each in set(topic_names)}
    topic = np.array([numbers[each] for each in topic_names], np.int64)[which]
    left.append(message[topic < 0])
    assert isinstance(logs.partition.primitive, FixedWidth)
    numbered = source.gather(partition_at[np.searchsorted(partition_at, at) - 1], logs.partition.primitive.size)
    partition = decode_number(numbered, logs.partition.primitive.code)
    return np.stack((message, at, size, topic, partition)), np.concatenate(left)


def _number_topic(data: bytes | None, logs: Logs, topics: dict[str, int], named: Callable[[str], str]) -> int:
    """The number of a topic by its bytes; -1 where the message is left to its decoder, as with one that is null."""
    name = None if data is None else logs.name(data)
    if name is None:
        return -1
    name = named(name) if logs.explained else name
    return topics.setdefault(name, len(topics))


def _find_invalid_texts(source: Store | MultiSegmentReader, message: Ints, at: Ints, size: Ints) -> Ints:
    """The messages in which one of these texts is none."""
    there = size > 0
    texts = source.read_many(at[there], size[there])
    if b"".join(texts).isascii():
        return message[:0]
    return message[there][[not _is_utf8(text) for text in texts]]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


HASH_DIGITS = 16
"""Hexadecimal digits of a key's hash."""


def hash_key(key: bytes) -> str:
    """Returns the hash that stands for a key in the table `records`."""
    return hashlib.sha256(key).hexdigest()[:HASH_DIGITS]


def hash_keys(data: bytes, at: Ints, length: Ints) -> pa.Array:
    """Hashes the bytes at each place, as hash_key() does; null where the length is negative."""
    there = np.flatnonzero(length >= 0)
    places = zip(at[there].tolist(), (at + length)[there].tolist(), strict=True)
    known: dict[bytes, int] = {}
    numbers = np.full(len(at), -1, np.int64)
    numbers[there] = [known.setdefault(data[begin:end], len(known)) for begin, end in places]
    hashes = pa.array([hash_key(key) for key in known], pa.string())
    return hashes.take(pa.array(numbers, mask=numbers < 0))
