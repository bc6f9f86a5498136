"""Decodes records to TCP segments: link layer, IP, fragments, tunnels, TCP.

Theory. Records are decoded in chunks that fit into the processor's cache. What comes out of a fragment or a tunnel is
an IP packet again, so it takes another round with the same row. Nearly all packets are usual ones, which
tcp_segments.read_usual_segments reads beforehand; the code here would read them alike.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import network_layers, tcp_segments
from analyzer.capture.flows import FlowTable
from analyzer.capture.fragments import DatagramKey, DatagramReassembler
from analyzer.capture.network_layers import HeaderLayer, IpPayloads
from analyzer.capture.records import RecordBlock
from analyzer.capture.store import Store
from analyzer.capture.tcp_segments import read_usual_segments
from dissectors.finding import Finding, Severity
from dissectors.slotted import make_slotted

CHUNK = 1 << 16
ROUNDS = 4
"""How often a packet may come out of another one."""
HEADERS = 512
"""Bytes of an unusual packet that scapy sees: enough for every stack of headers, and a bound for its work."""
RAW_IP = 101


@make_slotted(frozen=False)
class DecodingChunk:
    """Holds a chunk while it is decoded: the fate of each packet, inner IP packets, segments."""

    records: RecordBlock
    fate: NDArray[np.int8]
    found: list[HeaderLayer]
    parts: list[tcp_segments.TcpSegments]

    def add(self, row: int, at: int, captured: int, wire: int) -> None:
        """Adds an IP packet that came out of packet `row`."""
        self.found.append(HeaderLayer(*(np.array([value], np.int64) for value in (row, at, captured, wire))))


class FoundFragment(NamedTuple):
    """Describes a fragment: the key of its datagram, its packet's number, whether the datagram is complete now."""

    key: DatagramKey
    number: int
    whole: bool


class PacketDecoder:
    """Decodes blocks of records, and carries unfinished datagrams, flows and counts from block to block.

    trace: receives all fragments, if given. reassembler: one with datagrams to go on with.
    """

    def __init__(
        self,
        store: Store,
        flows: FlowTable,
        findings: list[Finding],
        trace: list[FoundFragment] | None = None,
        reassembler: DatagramReassembler | None = None,
    ) -> None:
        self.counts = PacketCounts()
        self._trace = trace
        self._store = store
        self._flows = flows
        self._findings = findings
        self._reassembler = DatagramReassembler() if reassembler is None else reassembler
        self._refused: set[int] = set()

    def decode_segments(self, records: RecordBlock) -> tcp_segments.TcpSegments:
        """Returns the TCP segments of a block, in the order of its records."""
        parts = [
            part
            for start in range(0, len(records), CHUNK)
            for part in self._decode_chunk(records[start : start + CHUNK], start)
        ]
        self.counts.incomplete = self._reassembler.unfinished
        return tcp_segments.order_segments(parts)

    def _decode_chunk(self, records: RecordBlock, base: int) -> list[tcp_segments.TcpSegments]:
        chunk = DecodingChunk(records, np.zeros(len(records), np.int8), [], [])
        rows = np.arange(len(records))
        if found := read_usual_segments(self._store, records):
            segments, usual = found
            chunk.fate[usual] = PacketFate.SEGMENT
            chunk.parts.append(segments)
            rows = np.flatnonzero(~usual)
        if len(rows):
            self._decode_scalar(records if len(rows) == len(records) else records[rows], rows, chunk)
        self._count(records, chunk.fate)
        for part in chunk.parts:
            part.row += base
        return chunk.parts

    def _decode_scalar(self, records: RecordBlock, rows: NDArray[np.int64], chunk: DecodingChunk) -> None:
        """Decodes the records that are no usual packets; they are at `rows` of the chunk."""
        position, kind = network_layers.find_network_layers(self._store, records)
        frames = HeaderLayer(rows, records.at, records.captured, records.original)
        network = frames.skip(position, frames.wire - position)
        for version in (network_layers.IPV4, network_layers.IPV6):
            those = kind == version
            if bool(those.any()):
                self._decode_network(version, network if bool(those.all()) else network[those], chunk)
        chunk.fate[rows[kind == network_layers.UNREADABLE]] = PacketFate.UNREADABLE
        for row in np.flatnonzero(kind == network_layers.ODD).tolist():
            self._unwrap(frames[np.array([row])], int(records.link[row]), chunk)
        for _ in range(ROUNDS):
            if not chunk.found:
                break
            self._decode_inner(chunk)

    def _decode_inner(self, chunk: DecodingChunk) -> None:
        """Decodes the packets that came out of packets."""
        layer, chunk.found = network_layers.HeaderLayer.concatenate(chunk.found), []
        versions = self._store.gather(layer.at, 1)[:, 0] >> 4
        for version in (network_layers.IPV4, network_layers.IPV6):
            if bool((versions == version).any()):
                self._decode_network(version, layer[versions == version], chunk)

    def _decode_network(self, version: int, layer: HeaderLayer, chunk: DecodingChunk) -> None:
        read = network_layers.read_ipv4 if version == network_layers.IPV4 else network_layers.read_ipv6
        inside = read(self._store, self._flows, layer)
        plain = inside.sound & (inside.protocol == network_layers.TCP) & (inside.fragment < 0)
        if not bool(plain.all()):
            self._handle_others(version, inside[~plain], chunk)
            inside = inside[plain]
        segments, sound = tcp_segments.read_segments(self._store, inside)
        if not bool(sound.all()):
            chunk.fate[segments.row[~sound]] = PacketFate.UNREADABLE
            segments = segments[sound]
        chunk.fate[segments.row] = PacketFate.SEGMENT
        chunk.parts.append(segments)

    def _handle_others(self, version: int, inside: IpPayloads, chunk: DecodingChunk) -> None:
        chunk.fate[inside.layer.row[~inside.sound]] = PacketFate.UNREADABLE
        pieces = inside.sound & (inside.fragment >= 0) & network_layers.may_hold_tcp(inside.protocol)
        for row in np.flatnonzero(pieces).tolist():
            self._add_fragment(version, inside, row, chunk)
        tunnels = inside.sound & network_layers.find_tunnels(self._store, inside)
        for row in np.flatnonzero(tunnels).tolist():
            layer = inside.layer[np.array([row])]
            head = layer.at - inside.network[row]
            self._unwrap(
                HeaderLayer(layer.row, layer.at - head, layer.captured + head, layer.wire + head), RAW_IP, chunk
            )

    def _add_fragment(self, version: int, inside: IpPayloads, row: int, chunk: DecodingChunk) -> None:
        layer = inside.layer
        packet, size = int(layer.row[row]), int(layer.wire[row])
        self.counts.fragments += 1
        if int(layer.captured[row]) < size:
            chunk.fate[packet] = PacketFate.UNREADABLE
            return
        chunk.fate[packet] = PacketFate.PIECE
        network, at = int(inside.network[row]), int(layer.at[row])
        protocol = int(inside.protocol[row])
        header = self._store.read_bytes(network, at - network if version == network_layers.IPV4 else 40)
        if version == network_layers.IPV6:
            header = header[:6] + bytes([protocol]) + header[7:]
            protocol = -1
        key = (int(inside.source[row]), int(inside.destination[row]), int(inside.ident[row]), protocol)
        whole = self._reassembler.add(
            int(chunk.records.time[packet]),
            key,
            int(inside.fragment[row]),
            bool(inside.more[row]),
            header,
            self._store.read_bytes(at, size),
        )
        if self._trace is not None:
            # `counts.packets` grows when the chunk is finished.
            self._trace.append(FoundFragment(key, self.counts.packets + packet + 1, whole is not None))
        if whole is not None:
            self.counts.reassembled += 1
            chunk.fate[packet] = PacketFate.NOT_TCP
            chunk.add(packet, self._store.append(whole), len(whole), len(whole))

    def _unwrap(self, layer: HeaderLayer, kind: int, chunk: DecodingChunk) -> None:
        """Lets scapy find the innermost IP packet. `layer` is one row, `kind` the LINKTYPE of its bytes."""
        from analyzer.capture.scapy_reader import UnreadablePacket, find_innermost_ip

        row, at, captured, wire = (int(column[0]) for column in (layer.row, layer.at, layer.captured, layer.wire))
        try:
            offset = find_innermost_ip(self._store.read_bytes(at, min(captured, HEADERS)), kind)
        except UnreadablePacket as error:
            chunk.fate[row] = PacketFate.UNREADABLE
            if kind not in self._refused:
                self._refused.add(kind)
                self._findings.append(Finding(Severity.WARNING, "unreadable-packet", str(error)))
            return
        if offset:
            chunk.add(row, at + offset, captured - offset, wire - offset)

    def _count(self, records: RecordBlock, fate: NDArray[np.int8]) -> None:
        counts, fates = self.counts, np.bincount(fate, minlength=len(PacketFate)).tolist()
        counts.packets += len(records)
        counts.tcp += fates[PacketFate.SEGMENT]
        counts.not_tcp += fates[PacketFate.NOT_TCP]
        counts.unreadable += fates[PacketFate.UNREADABLE]
        counts.cut += int(np.count_nonzero(records.captured < records.original))
        counts.bytes += int(records.original.sum())


@make_slotted(frozen=False)
class PacketCounts:
    """Counts packets by what they are. A fragment counts as neither tcp, not_tcp nor unreadable.

    `fragments`: fragments of IP datagrams; `reassembled` and `incomplete`: datagrams. `cut`: packets of which the
    capture has fewer bytes than the wire had. `bytes`: on the wire.
    """

    packets: int = 0
    tcp: int = 0
    not_tcp: int = 0
    unreadable: int = 0
    fragments: int = 0
    reassembled: int = 0
    incomplete: int = 0
    cut: int = 0
    bytes: int = 0


class PacketFate(IntEnum):
    """Says what became of a packet."""

    NOT_TCP = 0
    SEGMENT = 1
    PIECE = 2
    UNREADABLE = 3
