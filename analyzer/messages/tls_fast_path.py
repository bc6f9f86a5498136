"""The fast path of TLS: decrypts clean packets of a steady TLS connection to segments of plaintext, all at once.

Theory. After the handshake nearly all records carry application data under one secret. The payload of many packets is
read at once, and its records are opened in runs. A record that a run cannot open, such as a key update or an alert,
ends it. The packet that completes that record takes the slow path, together with all packets after it until the
connection is steady again. Plaintext goes to the annex of the store; its segments replace those of the packets.

The reference implementation is analyzer.messages.tls_layer; tests/analyzer/messages/test_tls.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from analyzer.capture.packets import PacketBlock
from analyzer.columns.arrays import Ints, rank_in_runs
from analyzer.messages.tls_layer import TlsLayer
from analyzer.tcp.reassembly import Piece
from analyzer.tls.keys import Secrets
from analyzer.tls.record_run import open_run
from analyzer.tls.records import HEADER, Span

CHUNK = 1 << 18
"""Bytes of records that are opened together; they stay in the processor's cache."""

MOST_RUN = 16 << 20
"""Bytes of packets in one run. Their plaintext stays in memory until the end of the run is known."""


class RunStore(Protocol):
    """Reads ciphertext and keeps plaintext; implemented by Store."""

    def read_joined(self, locations: Ints, lengths: Ints, *, before: bytes) -> bytes:
        """Returns `before`, and the bytes at n locations after it, as one bytes object."""

    def append(self, data: bytes) -> int:
        """Keeps bytes; returns their location."""


class PacketBytes(NamedTuple):
    """Holds n segments of ciphertext of one direction, in order: location, length, packet and time (int64, n)."""

    at: Ints
    length: Ints
    packet: Ints
    time: Ints

    def take(self, count: int) -> PacketBytes:
        """Returns the first `count` segments."""
        return PacketBytes(*(column[:count] for column in self))


class PlainSegments(NamedTuple):
    """Holds n segments of plaintext (int64, n). closed: the packet that completed the record of each."""

    at: Ints
    length: Ints
    packet: Ints
    time: Ints
    closed: Ints


class OpenedRecords(NamedTuple):
    """Holds n records (int64, n): where each ends after the buffered bytes and segments, its plaintext, its packet.

    texts: decrypted content, which may have a content type after the plaintext. length: of the plaintext. closing: the
    segment that completes each record. unusual: packet that completes a record for the slow path; -1 for none.
    """

    end: Ints
    texts: list[bytes]
    length: Ints
    closing: Ints
    unusual: int

    def take(self, count: int) -> OpenedRecords:
        """Returns the first `count` records."""
        return OpenedRecords(self.end[:count], self.texts[:count], self.length[:count], self.closing[:count], -1)

    def append_to(self, store: RunStore) -> Ints:
        """Appends the plaintext to a store, once; returns where that of each record begins."""
        size = np.fromiter(map(len, self.texts), np.int64, len(self.texts))
        place = np.cumsum(size) - size
        edges = np.flatnonzero(np.diff(place // CHUNK, prepend=-1)).tolist()
        parts = [store.append(b"".join(self.texts[a:b])) for a, b in pairwise([*edges, len(self.texts)])]
        return place + parts[0] if parts else place


class DecryptedSide(NamedTuple):
    """Holds what one direction contains: records, their plaintext, and the rest of an incomplete record."""

    wire: PacketBytes
    records: int
    plain: PlainSegments
    rest: bytes
    spans: list[Span]


class DecryptedRun(NamedTuple):
    """Holds what the next `packets` packets of a TLS connection contain, by side."""

    packets: int
    sides: tuple[DecryptedSide, DecryptedSide]

    def list_pieces(self, side: int, offset: int, most: int | None) -> list[Piece]:
        """Returns the last segments of ciphertext of a side, `most` at most; offset: where the first one begins."""
        wire = self.sides[side].wire
        begin = offset + np.cumsum(wire.length) - wire.length
        first = 0 if most is None else max(len(begin) - most, 0)
        return list(map(Piece, *(column[first:].tolist() for column in (begin, *wire))))

    def commit(self, layer: TlsLayer) -> None:
        """Updates a layer as the slow path would with these packets."""
        session = layer.session
        for side, (half, found) in enumerate(zip(session.halves, self.sides, strict=True)):
            half.number += found.records
            session.facts.opened[side != session.client] += found.records
            half.reader.replace(found.rest, found.spans)
            layer.offsets[side] += int(found.plain.length.sum())


def decrypt_run(
    block: PacketBlock, packets: Ints, repeats: Ints | None, layer: TlsLayer, store: RunStore, secrets: Secrets
) -> DecryptedRun | None:
    """Decrypts the next packets of a steady TLS connection; None if the slow path must take the first one.

    packets: their indexes in the block (int64, n), all clean. repeats: those among them with nothing new.
    """
    if not layer.session.prepare(secrets):
        return None
    filled = packets[block.length[packets] > 0]
    if repeats is not None:
        filled = filled[~np.isin(filled, repeats)]
    direction = block.direction[filled]
    wires = [_read_columns(block, filled[direction == side]) for side in (0, 1)]
    opened = [_open_side(layer, side, wire, store) for side, wire in enumerate(wires)]
    count, unusual = len(packets), [each.unusual for each in opened if each.unusual >= 0]
    if unusual:
        count = int(np.searchsorted(block.number[packets], min(unusual)))
        if not count:
            return None
        for side, wire in enumerate(wires):
            wires[side] = wire.take(int(np.searchsorted(wire.packet, min(unusual))))
            done = int(np.searchsorted(opened[side].closing, len(wires[side].at)))
            opened[side] = opened[side].take(done)
    first, second = (_divide(layer, side, wires[side], opened[side], store) for side in (0, 1))
    return DecryptedRun(count, (first, second))


def limit_run(block: PacketBlock, packets: Ints) -> Ints:
    """Returns the first packets (indexes in the block) with at most MOST_RUN bytes together, but at least one."""
    end = np.cumsum(block.length[packets], dtype=np.int64)
    return packets[: max(int(np.searchsorted(end, MOST_RUN, "right")), 1)]


def _read_columns(block: PacketBlock, packets: Ints) -> PacketBytes:
    columns = (block.at, block.length, block.number, block.time)
    return PacketBytes(*(column[packets].astype(np.int64) for column in columns))


def _open_side(layer: TlsLayer, side: int, wire: PacketBytes, store: RunStore) -> OpenedRecords:
    """Opens the records that the segments of a direction complete, after the bytes in its reader."""
    half = layer.session.halves[side]
    assert half.cipher is not None
    rest, number = half.reader.rest, half.number
    ends, lengths, texts = [], [], list[bytes]()
    line_end = len(rest) + np.cumsum(wire.length)
    begin, unusual = 0, -1  # of `rest`, after the bytes that the reader holds
    for first, last in _cut_into_chunks(wire.length):
        data = store.read_joined(wire.at[first:last], wire.length[first:last], before=rest)
        run = open_run(half.cipher, number, data)
        if run.ends:
            ends.append(begin + np.array(run.ends))
            lengths.append(np.array(run.lengths))
            texts += run.texts
        if run.unusual >= 0:
            unusual = begin + run.unusual
            break
        done = run.ends[-1] if run.ends else 0
        rest, begin, number = data[done:], begin + done, number + len(run.ends)
    end, length = (np.concatenate(each) if each else np.empty(0, np.int64) for each in (ends, lengths))
    closing = np.searchsorted(line_end, end)
    at_packet = -1 if unusual < 0 else int(wire.packet[np.searchsorted(line_end, unusual, "right")])
    return OpenedRecords(end, texts, length, closing, at_packet)


def _cut_into_chunks(length: Ints) -> Iterator[tuple[int, int]]:
    """Yields the first segment and the one after the last of each chunk."""
    chunk = np.cumsum(length) // CHUNK
    edges = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(length)]
    return ((first, last) for first, last in pairwise(edges) if last > first)


def _divide(layer: TlsLayer, side: int, wire: PacketBytes, opened: OpenedRecords, store: RunStore) -> DecryptedSide:
    """Divides plaintext by the packets that carried it, as half_session.divide_plaintext does."""
    reader, parameters = layer.session.halves[side].reader, layer.session.parameters
    assert parameters is not None
    old = np.array([span[:3] for span in reader.spans], np.int64).reshape(-1, 3).T
    spans_length, packet, time = (
        np.concatenate(pair) for pair in zip(old, (wire.length, wire.packet, wire.time), strict=True)
    )
    line_end = np.cumsum(spans_length)
    line = line_end - spans_length
    filled = opened.length > 0
    length, closing = opened.length[filled], opened.closing[filled] + len(reader.spans)
    begin = np.concatenate(([0], opened.end[:-1]))[filled] + HEADER + parameters.suite.explicit_nonce
    first = np.searchsorted(line_end, begin, "right")
    last = np.where(length > 1, np.searchsorted(line_end, begin + length - 2, "right"), first - 1)
    count = last - first + 1 + (last != closing)  # the last byte belongs to the packet that completes the record
    index = np.repeat(first, count) + rank_in_runs(count)
    final = np.cumsum(count) - 1
    index[final] = closing
    place = np.maximum(line[index] - np.repeat(begin, count), 0)
    alone = last != closing
    place[final[alone]] = length[alone] - 1
    stop = np.append(place[1:], 0)
    stop[final] = length
    plain = PlainSegments(
        np.repeat(opened.append_to(store)[filled], count) + place,
        stop - place,
        packet[index],
        time[index],
        np.repeat(packet[closing], count),
    )
    taken = int(opened.end[-1]) if len(opened.end) else 0
    rest, spans = _read_rest(reader.rest, wire, line_end, taken, store), _cut_spans(spans_length, packet, time, taken)
    return DecryptedSide(wire, len(opened.end), plain, rest, spans)


def _read_rest(buffered: bytes, wire: PacketBytes, line_end: Ints, taken: int, store: RunStore) -> bytes:
    """Returns the bytes of a direction after the first `taken` ones."""
    line_end = line_end[len(line_end) - len(wire.at) :]
    first = int(np.searchsorted(line_end, taken, "right"))
    if first == len(wire.at):
        return buffered[taken:]
    at, length = wire.at[first:].copy(), wire.length[first:].copy()
    passed = max(taken - int(line_end[first] - length[0]), 0)
    at[0] += passed
    length[0] -= passed
    return store.read_joined(at, length, before=buffered[taken:])


def _cut_spans(length: Ints, packet: Ints, time: Ints, taken: int) -> list[Span]:
    """Returns the spans after the first `taken` bytes."""
    line_end = np.cumsum(length)
    first = int(np.searchsorted(line_end, taken, "right"))
    left = length[first:].copy()
    if len(left):
        left[0] = line_end[first] - taken
    return list(map(Span, left.tolist(), packet[first:].tolist(), time[first:].tolist()))
