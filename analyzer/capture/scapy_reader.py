"""Reads captures and unusual encapsulations by scapy's readers and layers.

Theory. Scapy knows hundreds of layers, and is a hundred times slower than columns. The native reader imports it only
for an unusual packet, with the layers that it needs, and asks one question: where does the innermost IP packet begin?

With `--reader scapy` all packets come from here: slowly and independently, as an oracle for the native reader. Scapy
decides what a packet is and where its payload ends; the payload goes to the annex, since a layer does not know its
place in the file. Known differences: scapy ignores if_tsoffset and the time of simple packets, loses packets of a file
whose sections differ in byte order, and reassembles only IPv4 fragments that come in order.
"""

from __future__ import annotations

import heapq
import logging
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import numpy as np

from analyzer.capture.flows import FlowTable
from analyzer.capture.inputs import CaptureInput
from analyzer.capture.packet_decoder import PacketCounts
from analyzer.capture.packets import PacketBlock
from analyzer.capture.records import LARGEST_RECORD
from analyzer.capture.store import Store

if TYPE_CHECKING:
    from scapy.packet import Packet


BLOCK = 4096


class _Row(NamedTuple):
    """One TCP segment; addresses are bytes, `length` counts payload on the wire."""

    number: int
    time: int
    source: bytes
    destination: bytes
    ports: tuple[int, int]
    seq: int
    ack: int
    flags: int
    window: int
    payload: bytes
    length: int


def read_blocks(
    inputs: Sequence[CaptureInput], store: Store, flows: FlowTable, counts: PacketCounts
) -> Iterator[PacketBlock]:
    """Yields the blocks of PacketReader.blocks(), for captures that end.

    Raises CaptureError if scapy finds no capture.
    """
    merged = heapq.merge(*(_read_with_times(one) for one in inputs), key=lambda pair: pair[0])
    rows = _rows((packet for _, packet in merged), counts)
    while batch := list(islice(rows, BLOCK)):
        yield _block(batch, store, flows)


def _read_with_times(one: CaptureInput) -> Iterator[tuple[int, Packet]]:
    """Yields each packet with its place in the timeline: the highest time of the packets so far."""
    find_link_class(1)
    from scapy.error import Scapy_Exception
    from scapy.utils import PcapReader

    # Scanning reads a pipe's bytes, describes the file, and finds damage.
    for _ in one.blocks():
        pass
    place = 0
    left = one.info.packets if one.is_damaged else sys.maxsize
    file: IO[bytes] = os.fdopen(one.source.duplicate(), "rb")
    with file, PcapReader(cast(str, file)) as reader:
        for _ in range(left):
            try:
                packet = reader.read_packet(LARGEST_RECORD)
            except (EOFError, Scapy_Exception):
                return
            place = max(place, _time(packet))
            yield place, packet


def _time(packet: Packet) -> int:
    return round(packet.time * 1_000_000_000)


def _wire(packet: Packet) -> int:
    return packet.wirelen if packet.wirelen is not None else len(packet.original)


def _rows(packets: Iterator[Packet], counts: PacketCounts) -> Iterator[_Row]:
    from scapy.layers.inet import IP, BadFragments, _defrag_ip_pkt

    fragments: defaultdict[tuple[object, ...], list[object]] = defaultdict(list)
    for number, packet in enumerate(packets, 1):
        counts.packets += 1
        counts.bytes += _wire(packet)
        counts.cut += len(packet.original) < _wire(packet)
        time, whole = _time(packet), packet
        if type(packet.getlayer(IP)) is IP:
            counts.fragments += bool(packet[IP].frag or packet[IP].flags.MF)
            try:
                fragment, whole = _defrag_ip_pkt(packet, fragments)  # type: ignore[no-untyped-call]
            except BadFragments:
                continue
            if fragment and whole is None:
                continue
            if fragment:
                counts.reassembled += 1
                whole = IP(bytes(whole[IP]))
                whole.wirelen = len(whole.original)
        row = _row(number, time, whole)
        counts.tcp += row is not None
        counts.not_tcp += row is None
        if row is not None:
            yield row


def _row(number: int, time: int, packet: Packet) -> _Row | None:
    """Returns the innermost TCP segment, or None if there is none or it contradicts itself."""
    from scapy.layers.inet import IP, TCP
    from scapy.layers.inet6 import IPv6

    network = segment = None
    before = behind = 0
    layer = packet
    while layer.raw_packet_cache is not None:
        if type(layer) in (IP, IPv6):
            network, segment, behind = layer, None, before
        elif type(layer) is TCP and network is not None:
            segment, start = layer, before
        before += len(layer.raw_packet_cache)
        layer = layer.payload
    if network is None or segment is None or segment.dataofs < 5:
        return None
    fixed = 0 if type(network) is IP else 40
    total = network.len if type(network) is IP else network.plen
    total = total + fixed if total else _wire(packet) - behind
    length = total - (start - behind) - 4 * segment.dataofs
    if length < 0:
        return None
    payload = segment.original[4 * segment.dataofs :][:length]
    source, destination = (network.get_field(side).i2m(network, network.getfieldval(side)) for side in ("src", "dst"))
    return _Row(
        number=number,
        time=time,
        source=source,
        destination=destination,
        ports=(segment.sport, segment.dport),
        seq=segment.seq,
        ack=segment.ack,
        flags=int(segment.flags) & 0xFF,
        window=int(segment.window),
        payload=payload,
        length=length,
    )


def _block(rows: list[_Row], store: Store, flows: FlowTable) -> PacketBlock:
    ends = [np.array([_endpoint(row, side, flows) for row in rows], np.uint64) for side in (0, 1)]
    flow, direction = flows.number_flows(*ends)
    return PacketBlock(
        number=np.array([row.number for row in rows], np.int64),
        time=np.array([row.time for row in rows], np.int64),
        flow=flow,
        direction=direction,
        seq=np.array([row.seq for row in rows], np.uint32),
        ack=np.array([row.ack for row in rows], np.uint32),
        flags=np.array([row.flags for row in rows], np.uint8),
        at=np.array([store.append(row.payload) for row in rows], np.int64),
        length=np.array([row.length for row in rows], np.int32),
        captured=np.array([len(row.payload) for row in rows], np.int32),
        window=np.array([row.window for row in rows], np.uint16),
    )


def _endpoint(row: _Row, side: int, flows: FlowTable) -> int:
    address = np.frombuffer(row.destination if side else row.source, np.uint8).reshape(1, -1)
    code = flows.encode_ipv4(address) if address.size == 4 else flows.encode_ipv6(address)
    return int(code[0]) << 16 | row.ports[side]


TUNNELS = (
    "scapy.layers.ppp",
    "scapy.layers.l2tp",
    "scapy.layers.vxlan",
    "scapy.contrib.erspan",
    "scapy.contrib.etherip",
    "scapy.contrib.geneve",
    "scapy.contrib.gtp",
    "scapy.contrib.mpls",
)
LINKS = {
    9: "scapy.layers.ppp",
    50: "scapy.layers.ppp",
    51: "scapy.layers.ppp",
    105: "scapy.layers.dot11",
    117: "scapy.layers.pflog",
    119: "scapy.layers.dot11",
    127: "scapy.layers.dot11",
    192: "scapy.layers.ppi",
}
"""LINKTYPE -> module, beyond those that scapy's basic layers register."""


class UnreadablePacket(Exception):
    """Scapy has no layer for the link type, or fails on the packet."""


def find_innermost_ip(data: bytes, link: int) -> int:
    """Returns the offset in `data` of the innermost IP header, or 0 if there is none behind the first byte.

    `data`: the beginning of a packet of LINKTYPE `link`. Raises UnreadablePacket.
    """
    layer_class = find_link_class(link)
    if layer_class is None:
        raise UnreadablePacket(f"packets of link type {link} cannot be read; they are counted as unreadable")
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    found = offset = 0
    try:
        layer = layer_class(data)
        while layer.raw_packet_cache is not None:
            # Not isinstance: packets quoted in ICMP errors have derived classes.
            if type(layer) in (IP, IPv6) and offset < len(data) and data[offset] >> 4 == layer.version:
                found = offset
            offset += len(layer.raw_packet_cache)
            layer = layer.payload
    except Exception as error:
        raise UnreadablePacket(f"scapy cannot read a packet of link type {link} ({error!r})") from error
    return found


@cache
def find_link_class(link: int) -> type[Packet] | None:
    """Returns scapy's layer for a LINKTYPE, or None. Imports the layers on the first call."""
    logging.getLogger("scapy").setLevel(logging.ERROR)
    for module in ("scapy.layers.l2", "scapy.layers.inet", "scapy.layers.inet6", *TUNNELS):
        import_module(module)
    if link in LINKS:
        import_module(LINKS[link])
    from scapy.config import conf

    found: type[Packet] | None = conf.l2types.num2layer.get(link)
    return found
