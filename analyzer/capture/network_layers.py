"""Reads link layers, IPv4 and IPv6 headers of many packets at once.

Theory. All common link layers end in an EtherType in front of the network layer (Ethernet, Linux cooked), or in a byte
that says IPv4 or IPv6 (raw IP, null, loopback). So a link type is one row of a table: the position of the EtherType and
that of the payload. VLAN tags move both by four bytes, in rounds, for the rows that have them.

Lengths come from the IP headers, so Ethernet's padding never becomes payload. Where a length is 0 (the network card
cuts the segment later: TSO) the length of the frame holds. Checksums are not verified, because with offloading they are
wrong in healthy captures. A packet with neither TCP nor a tunnel goes no further.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.flows import U64, FlowTable
from analyzer.capture.records import RecordBlock
from analyzer.capture.store import Store
from analyzer.columns.arrays import ArrayRows, list_distinct
from dissectors.slotted import make_slotted

IPV4, IPV6 = 4, 6
OTHER, ODD, UNREADABLE = 0, 1, 2
"""Kinds of a packet besides its IP version: not IP; to be read by scapy's layers; too short for its own headers."""

TYPED = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
"""LINKTYPE -> (position of the EtherType, position behind the link layer): Ethernet, Linux cooked v1 and v2."""
RAW = dict.fromkeys((12, 14, 101, 228, 229), 0)
"""LINKTYPE -> bytes in front of the IP header, for those that have nothing but IP packets."""
FAMILY = {0, 108}
INET, INET6 = 2, (10, 24, 28, 30)
"""Address families in null and loopback headers: Linux, the BSDs and macOS do not agree on IPv6."""

VLANS = np.array([0x8100, 0x88A8, 0x9100], np.uint16)
ODD_TYPES = np.array([0x8847, 0x8848, 0x8864, 0x6558, 0x88E7, 0x894F], np.uint16)
"""MPLS, PPPoE, transparent Ethernet, provider backbone, network service header."""
SNAP = b"\xaa\xaa\x03"
DEEPEST_VLAN = 64


def find_network_layers(store: Store, records: RecordBlock) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Returns the position of the network layer in each packet, and its kind.

    Kinds are IPV4, IPV6, OTHER, ODD and UNREADABLE.
    """
    first = int(records.link[0])
    if bool((records.link == first).all()):
        return _find_in_one_link(store, first, records)
    position, kind = np.zeros(len(records), np.int64), np.zeros(len(records), np.int8)
    for link in list_distinct(records.link).tolist():
        rows = np.flatnonzero(records.link == link)
        position[rows], kind[rows] = _find_in_one_link(store, link, records[rows])
    return position, kind


def _find_in_one_link(store: Store, link: int, records: RecordBlock) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    if link in TYPED:
        return _find_by_ethertype(store, records, *TYPED[link])
    if link in RAW:
        head = RAW[link]
        kind = _kind_by_version(store.gather(records.at + head, 1))
        return np.full(len(records), head, np.int64), _mark_short(records, head + 1, kind)
    if link in FAMILY:
        return np.full(len(records), 4, np.int64), _mark_short(records, 4, _kind_by_family(store.gather(records.at, 4)))
    return np.zeros(len(records), np.int64), np.full(len(records), ODD, np.int8)


def _mark_short(records: RecordBlock, need: int, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    kind[records.captured < need] = UNREADABLE
    return kind


def _kind_by_version(head: NDArray[np.uint8]) -> NDArray[np.int8]:
    version = head[:, 0] >> 4
    return np.where((version == IPV4) | (version == IPV6), version, OTHER).astype(np.int8)


def _kind_by_family(head: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Reads the address family, which is in the byte order of the capturing machine.

    Its value is small, so it is the first or the last byte.
    """
    family = np.where(head[:, 0] != 0, head[:, 0], head[:, 3])
    kind = np.where(family == INET, IPV4, np.where(np.isin(family, INET6), IPV6, OTHER))
    return kind.astype(np.int8)


def _find_by_ethertype(
    store: Store, records: RecordBlock, position: int, payload: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    types = store.gather(records.at + position, 2).view(">u2")[:, 0].astype(np.uint16)
    behind = np.full(len(records), payload, np.int64)
    rows = np.flatnonzero(np.isin(types, VLANS))
    for _ in range(DEEPEST_VLAN):
        if not len(rows):
            break
        # A tag is two bytes of priority and VLAN id, then the type of what follows it.
        types[rows] = store.gather(records.at[rows] + behind[rows] + 2, 2).view(">u2")[:, 0]
        behind[rows] += 4
        rows = rows[np.isin(types[rows], VLANS) & (behind[rows] <= records.captured[rows])]
    kind = np.zeros(len(records), np.int8)
    kind[types == 0x0800] = IPV4
    kind[types == 0x86DD] = IPV6
    if bool((kind == OTHER).any()):
        kind[np.isin(types, ODD_TYPES)] = ODD
        llc = np.flatnonzero(types < 1536)
        snap = (store.gather(records.at[llc] + behind[llc], 3) == np.frombuffer(SNAP, np.uint8)).all(axis=1)
        kind[llc[snap]] = ODD
    kind[behind > records.captured] = UNREADABLE
    return behind, kind


TCP, UDP = 6, 17
TUNNELS = np.array([4, 41, 47, 97, 115, 137], np.uint8)
"""IP in IP, IPv6 in IP, GRE, Ethernet in IP, L2TPv3, MPLS in IP."""
TUNNEL_PORTS = np.array([1701, 2152, 4754, 4789, 6081, 6635, 8472], np.uint16)
"""L2TP, GTP-U, GRE in UDP, VXLAN, Geneve, MPLS in UDP, VXLAN as Linux had it first."""
HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
EXTENSIONS = np.array([HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION, 135, 139, 140], np.uint8)
MOST_EXTENSIONS = 32


@make_slotted(frozen=False)
class HeaderLayer(ArrayRows):
    """Holds headers to be read next: row of the packet in its chunk, location, bytes captured and on the wire."""

    row: NDArray[np.int64]
    at: NDArray[np.int64]
    captured: NDArray[np.int64]
    wire: NDArray[np.int64]

    def skip(self, header: NDArray[np.int64] | int, length: NDArray[np.int64]) -> HeaderLayer:
        """Returns the layer behind a header, `length` bytes on the wire."""
        captured = np.minimum(self.captured - header, length)
        return HeaderLayer(self.row, self.at + header, captured, length)


@make_slotted(frozen=False)
class IpPayloads(ArrayRows):
    """Holds what the packets of one IP version carry: `protocol` of the bytes in `layer`, and two address codes.

    `network` is the location of the IP header. `fragment` is the offset in bytes, -1 for an unfragmented packet; `more`
    and `ident` belong to fragments only. `sound` is False if the header contradicts itself or is incomplete.
    """

    layer: HeaderLayer
    network: NDArray[np.int64]
    protocol: NDArray[np.uint8]
    source: U64
    destination: U64
    fragment: NDArray[np.int64]
    more: NDArray[np.bool_]
    ident: NDArray[np.int64]
    sound: NDArray[np.bool_]


def read_ipv4(store: Store, flows: FlowTable, layer: HeaderLayer) -> IpPayloads:
    """Reads IPv4 headers with their options (RFC 791)."""
    head = store.gather(layer.at, 20)
    size = (head[:, 0] & 15).astype(np.int64) << 2
    words = head.view(">u2")
    total = words[:, 1].astype(np.int64)
    total = np.where(total == 0, layer.wire, total)
    cut = words[:, 3].astype(np.int64)
    fragmented = (cut & 0x3FFF) != 0
    return IpPayloads(
        layer.skip(size, total - size),
        layer.at,
        head[:, 9],
        flows.encode_ipv4(head[:, 12:16]),
        flows.encode_ipv4(head[:, 16:20]),
        np.where(fragmented, (cut & 0x1FFF) << 3, -1),
        (cut & 0x2000) != 0,
        words[:, 2].astype(np.int64),
        (head[:, 0] >> 4 == IPV4) & (size >= 20) & (total >= size) & (layer.captured >= size),
    )


def read_ipv6(store: Store, flows: FlowTable, layer: HeaderLayer) -> IpPayloads:
    """Reads IPv6 headers and their extension headers (RFC 8200), up to a real fragment or another protocol."""
    head = store.gather(layer.at, 40)
    length = head.view(">u2")[:, 2].astype(np.int64)
    length = np.where(length == 0, layer.wire - 40, length)
    inside = IpPayloads(
        layer.skip(40, length),
        layer.at,
        head[:, 6].copy(),
        flows.encode_ipv6(head[:, 8:24]),
        flows.encode_ipv6(head[:, 24:40]),
        np.full(len(layer), -1, np.int64),
        np.zeros(len(layer), np.bool_),
        np.zeros(len(layer), np.int64),
        (head[:, 0] >> 4 == IPV6) & (layer.captured >= 40) & (length >= 0),
    )
    if bool((inside.protocol != TCP).any()):
        _walk_extensions(store, inside)
    return inside


def _walk_extensions(store: Store, inside: IpPayloads) -> None:
    """Moves `inside` behind its extension headers, in place."""
    layer = inside.layer
    rows = np.flatnonzero(inside.sound & np.isin(inside.protocol, EXTENSIONS))
    for _ in range(MOST_EXTENSIONS):
        if not len(rows):
            return
        kind = inside.protocol[rows]
        head = store.gather(layer.at[rows], 8)
        size = (head[:, 1].astype(np.int64) + 1) << 3
        size[kind == AUTHENTICATION] = (head[kind == AUTHENTICATION, 1].astype(np.int64) + 2) << 2
        size[kind == FRAGMENT] = 8
        good = (layer.captured[rows] >= size) & (layer.wire[rows] >= size)
        inside.sound[rows[~good]] = False
        inside.protocol[rows] = head[:, 0]
        layer.at[rows] += size
        layer.captured[rows] -= size
        layer.wire[rows] -= size
        cut = head.view(">u2")[:, 1].astype(np.int64)
        # A fragment header around the whole packet (RFC 6946) is just one more extension.
        real = (kind == FRAGMENT) & ((cut & 0xFFF9) != 0)
        inside.fragment[rows[real]] = cut[real] & 0xFFF8
        inside.more[rows[real]] = (cut[real] & 1) != 0
        inside.ident[rows[real]] = head.view(">u4")[real, 1]
        rows = rows[good & ~real & np.isin(head[:, 0], EXTENSIONS)]
    inside.sound[rows] = False


def find_tunnels(store: Store, inside: IpPayloads) -> NDArray[np.bool_]:
    """Returns which packets carry other packets, by protocol number or by destination port of UDP."""
    whole = inside.fragment < 0
    odd = np.isin(inside.protocol, TUNNELS) & whole
    udp = np.flatnonzero((inside.protocol == UDP) & whole)
    if len(udp):
        odd[udp] = np.isin(store.gather(inside.layer.at[udp] + 2, 2).view(">u2")[:, 0], TUNNEL_PORTS)
    return odd


def may_hold_tcp(protocol: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Returns which fragments to keep: those of TCP, tunnels, and IPv6 extension headers."""
    return np.isin(protocol, [TCP, *TUNNELS, *EXTENSIONS[1:]])
