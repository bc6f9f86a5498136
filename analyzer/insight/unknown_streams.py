"""Traffic of no known protocol: connections by port and first bytes, and packets that are not TCP.

Theory. A capture without a message of a known protocol is usually the wrong file, the wrong port or TLS. Its content
shows which. Connections are counted by the port of their server and by the protocol of their first bytes, other packets
by their IP protocol and port. The index does not keep the latter, so the first packets are read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analyzer.capture import network_layers
from analyzer.capture.flows import FlowTable
from analyzer.capture.records import RecordBlock
from analyzer.columns.arrays import Bools, Ints
from analyzer.decode import raw
from analyzer.decode.endpoints import find_server_ports
from analyzer.session import Session
from dissectors.foreign import foreign

LOOKED_AT = 100_000
"""Number of packets that are read again."""

_NAMES = {1: "ICMP", 2: "IGMP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 89: "OSPF", 132: "SCTP"}


class PortProtocol(NamedTuple):
    """Connections to one server port. name: their protocol, by their first bytes; None if unknown."""

    port: int
    name: str | None
    connections: int
    bytes: int


class Other(NamedTuple):
    """Packets that are not TCP. what: `UDP port 53`, `ICMP`, `not IP`."""

    what: str
    packets: int


def list_port_protocols(session: Session) -> list[PortProtocol]:
    """Returns the connections of no known protocol by port, those with the most bytes first."""
    stream, length = session.rows.column("stream"), session.rows.column("length")
    unknown = np.ones(len(session.engine.streams), bool)
    unknown[stream[_is_known(session)]] = False
    size = np.bincount(stream, length, len(unknown)).astype(np.int64)
    numbers = np.flatnonzero(unknown)
    names, ports = _names(session, unknown), find_server_ports(session)
    groups: dict[tuple[int, str | None], list[int]] = {}
    for number, port in zip(numbers.tolist(), ports[numbers].tolist(), strict=True):
        groups.setdefault((port, names.get(number)), []).append(int(size[number]))
    found = [PortProtocol(port, name, len(sizes), sum(sizes)) for (port, name), sizes in groups.items()]
    return sorted(found, key=lambda each: (-each.bytes, -each.connections, each.port))


def has_unknown(session: Session) -> bool:
    """Returns whether any bytes belong to no known protocol."""
    return not bool(_is_known(session).all())


def has_known(session: Session) -> bool:
    """Returns whether any message belongs to a known protocol, or a protocol recognises any unframed bytes."""
    if bool(_is_known(session).any()):
        return True
    every = np.arange(len(session.rows))
    return any(
        raw.find_nested_info(session, row, raw.read_beginning(session, row)) is not None
        for row in _firsts(session, every)
    )


def _is_known(session: Session) -> Bools:
    protocol = session.rows.column("protocol")
    return (protocol >= 0) & (protocol < len(session.engine.known.dissectors))


def _firsts(session: Session, rows: Ints) -> list[int]:
    """Returns the first of these rows of each direction of each connection, in order."""
    direction = session.rows.column("stream")[rows].astype(np.int64) * 2 + session.rows.column("side")[rows]
    return sorted(rows[np.unique(direction, return_index=True)[1]].tolist())


def _names(session: Session, streams: Bools) -> dict[int, str]:
    """Returns the protocols of the connections for which `streams` is true, by the first bytes of either side."""
    found: dict[int, str] = {}
    for row in _firsts(session, np.flatnonzero(streams[session.rows.column("stream")])):
        stream = session.rows.cell("stream", row)
        if stream not in found:
            other = foreign(raw.read_beginning(session, row))
            if other is not None:
                found[stream] = other.name
    return found


def list_other_ports(session: Session) -> list[Other]:
    """Counts packets that are not TCP, the most frequent first; reads the first LOOKED_AT packets."""
    counts: Counter[str] = Counter()
    looked = 0
    for records in session.packets.reread_records():
        for part in _kinds(session, records):
            counts.update(part)
        looked += len(records)
        if looked >= LOOKED_AT:
            break
    return [Other(what, packets) for what, packets in counts.most_common()]


def _kinds(session: Session, records: RecordBlock) -> Iterator[dict[str, int]]:
    if not len(records):
        return
    store, flows = session.source.store, FlowTable()
    position, kind = network_layers.find_network_layers(store, records)
    if (count := int(np.isin(kind, (network_layers.OTHER, network_layers.ODD)).sum())) > 0:
        yield {"not IP": count}
    frames = network_layers.HeaderLayer(np.arange(len(records)), records.at, records.captured, records.original)
    network = frames.skip(position, frames.wire - position)
    for version, read in (
        (network_layers.IPV4, network_layers.read_ipv4),
        (network_layers.IPV6, network_layers.read_ipv6),
    ):
        mine = network[kind == version]
        if not len(mine):
            continue
        inside = read(store, flows, mine)
        inside = inside[inside.sound & (inside.protocol != network_layers.TCP)]
        udp = inside[(inside.protocol == network_layers.UDP) & (inside.fragment < 0) & (inside.layer.captured >= 4)]
        ports = store.gather(udp.layer.at, 4).view(">u2").min(axis=1) if len(udp) else np.zeros(0, np.int64)
        yield Counter(f"UDP port {port}" for port in ports.tolist())
        rest = inside.protocol[inside.protocol != network_layers.UDP].tolist()
        yield Counter(_NAMES.get(protocol, f"IP protocol {protocol}") for protocol in rest)
