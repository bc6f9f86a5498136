"""IPv4 and IPv6: from network layers to TCP segments, fragments and tunnels, for many packets at once.

Theory. Lengths are those of the IP headers, so that Ethernet's padding never becomes payload; only where a length is
0 (the sender's card cuts the segment later: TSO) the frame's own length holds. Checksums are not verified: with
offloading they are wrong in healthy captures. What is neither TCP nor a tunnel leaves here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.flows import FlowTable
from analyzer.capture.link import IPV4, IPV6
from analyzer.capture.pairs import U64
from analyzer.capture.store import Store
from dissectors.slotted import slotted

TCP, UDP = 6, 17
TUNNELS = np.array([4, 41, 47, 97, 115, 137], np.uint8)
"""IP in IP, IPv6 in IP, GRE, Ethernet in IP, L2TPv3, MPLS in IP."""
TUNNEL_PORTS = np.array([1701, 2152, 4754, 4789, 6081, 6635, 8472], np.uint16)
"""L2TP, GTP-U, GRE in UDP, VXLAN, Geneve, MPLS in UDP, VXLAN as Linux had it first."""
HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
EXTENSIONS = np.array([HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION, 135, 139, 140], np.uint8)
MOST_EXTENSIONS = 32


@slotted(frozen=False)
class HeaderLayer:
    """Headers to be read next, as columns: `row` of the packet in its chunk, location, bytes kept and on the wire."""

    row: NDArray[np.int64]
    at: NDArray[np.int64]
    captured: NDArray[np.int64]
    wire: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> HeaderLayer:
        """The picked rows."""
        return HeaderLayer(*(getattr(self, name)[rows] for name in HeaderLayer.__annotations__))

    def skip(self, header: NDArray[np.int64] | int, length: NDArray[np.int64]) -> HeaderLayer:
        """What lies behind a header, `length` bytes on the wire."""
        captured = np.minimum(self.captured - header, length)
        return HeaderLayer(self.row, self.at + header, captured, length)


def concatenate_layers(layers: list[HeaderLayer]) -> HeaderLayer:
    """All rows of several."""
    names = HeaderLayer.__annotations__
    return HeaderLayer(*(np.concatenate([getattr(layer, name) for layer in layers]) for name in names))


@slotted(frozen=False)
class IpPayloads:
    """What one IP version's packets hold: `protocol` of what lies in `layer`, between two address codes.

    `network` is the location of the IP header. `fragment` is the offset in bytes, -1 of an unfragmented packet; `more`
    and `ident` belong to fragments only. `sound` is False where the header contradicts itself or is not all there.
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

    def __len__(self) -> int:
        return len(self.layer)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> IpPayloads:
        """The picked rows."""
        rest = (getattr(self, name)[rows] for name in list(IpPayloads.__annotations__)[1:])
        return IpPayloads(self.layer.take(rows), *rest)


def read_ipv4(store: Store, flows: FlowTable, layer: HeaderLayer) -> IpPayloads:
    """Reads IPv4 headers, with options."""
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
    """Reads IPv6 headers and walks extension headers in step, up to a real fragment or to something else."""
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
    """Which packets carry others: by protocol number, or by the UDP port they are sent to."""
    whole = inside.fragment < 0
    odd = np.isin(inside.protocol, TUNNELS) & whole
    udp = np.flatnonzero((inside.protocol == UDP) & whole)
    if len(udp):
        odd[udp] = np.isin(store.gather(inside.layer.at[udp] + 2, 2).view(">u2")[:, 0], TUNNEL_PORTS)
    return odd


def may_hold_tcp(protocol: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which fragments are worth keeping: of TCP, of tunnels, of IPv6 extension headers that are cut as well."""
    return np.isin(protocol, [TCP, *TUNNELS, *EXTENSIONS[1:]])
