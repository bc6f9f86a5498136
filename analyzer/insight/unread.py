"""What a capture holds that no dissector reads: connections by port and what they speak, and packets that are not TCP.

Theory. A capture without a message of a known protocol is most often the wrong file, the wrong port or TLS. What it
holds instead tells which: connections are counted by the port of their server and by what their first bytes are, other
packets by their IP protocol and port. Those are not kept by the index, so the first packets are looked at once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analyzer import raw
from analyzer.capture import ip, link
from analyzer.capture.flows import FlowTable
from analyzer.capture.records import RecordBlock
from analyzer.columns import Bools, Ints
from analyzer.session import Session
from dissectors.foreign import foreign

LOOKED_AT = 100_000
"""Packets that are looked at again."""

_PREFIX = 64
_NAMES = {1: "ICMP", 2: "IGMP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 89: "OSPF", 132: "SCTP"}


class Spoken(NamedTuple):
    """Connections to one port of servers. name: what they speak, by their first bytes; None where nobody knows."""

    port: int
    name: str | None
    connections: int
    bytes: int


class Other(NamedTuple):
    """Packets that are not TCP. what: `UDP port 53`, `ICMP`, `not IP`."""

    what: str
    packets: int


def spoken(session: Session) -> list[Spoken]:
    """The connections of no known protocol, those with most bytes first."""
    streams = session.engine.streams
    rows = session.rows
    stream, length = rows.column("stream"), rows.column("length")
    size = np.bincount(stream, length, len(streams)).astype(np.int64)
    known = np.zeros(len(streams), bool)
    known[stream[_is_known(session)]] = True
    names = _names(session, np.flatnonzero(~known))
    groups: dict[tuple[int, str | None], list[int]] = {}
    for number in np.flatnonzero(~known).tolist():
        client, flow = max(streams.cell("client", number), 0), streams.cell("flow", number)
        port = session.source.flows.port(flow, 1 - client)
        groups.setdefault((port, names.get(number)), []).append(int(size[number]))
    found = [Spoken(port, name, len(sizes), sum(sizes)) for (port, name), sizes in groups.items()]
    return sorted(found, key=lambda each: (-each.bytes, -each.connections, each.port))


def has_known(session: Session) -> bool:
    """Whether any message is of a known protocol, or bytes without framing are what one of them knows."""
    if bool(_is_known(session).any()):
        return True
    return any(raw.told(session, row, _beginning(session, row)) is not None for row in _firsts(session))


def _is_known(session: Session) -> Bools:
    protocol = session.rows.column("protocol")
    known: Bools = (protocol >= 0) & (protocol < len(session.engine.known.dissectors))
    return known


def _firsts(session: Session) -> list[int]:
    """The first row of each direction of each connection, in order."""
    direction = session.rows.column("stream").astype(np.int64) * 2 + session.rows.column("side")
    return sorted(np.unique(direction, return_index=True)[1].tolist())


def _beginning(session: Session, row: int) -> bytes:
    """The first bytes of a row."""
    for at, length, _ in session.pieces(row):
        return b"" if at < 0 else session.source.store.read(at, min(length, _PREFIX))
    return b""


def _names(session: Session, streams: Ints) -> dict[int, str]:
    """What connections speak, by the first bytes of either side."""
    found: dict[int, str] = {}
    wanted = set(streams.tolist())
    for row in _firsts(session):
        stream = session.rows.cell("stream", row)
        if stream in wanted and stream not in found:
            other = foreign(_beginning(session, row))
            if other is not None:
                found[stream] = other.name
    return found


def others(session: Session) -> list[Other]:
    """The packets that are not TCP, the most frequent first; of the first LOOKED_AT packets."""
    counts: Counter[str] = Counter()
    looked = 0
    for records in session.packets.again():
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
    position, kind = link.network_layers(store, records)
    if (count := int(np.isin(kind, (link.OTHER, link.ODD)).sum())) > 0:
        yield {"not IP": count}
    frames = ip.Layer(np.arange(len(records)), records.at, records.captured, records.original)
    network = frames.skip(position, frames.wire - position)
    for version, read in ((link.IPV4, ip.ipv4), (link.IPV6, ip.ipv6)):
        mine = network.take(kind == version)
        if not len(mine):
            continue
        inside = read(store, flows, mine)
        inside = inside.take(inside.sound & (inside.protocol != ip.TCP))
        udp = inside.take((inside.protocol == ip.UDP) & (inside.fragment < 0) & (inside.layer.captured >= 4))
        ports = store.gather(udp.layer.at, 4).view(">u2").min(axis=1) if len(udp) else np.zeros(0, np.int64)
        yield from ({f"UDP port {port}": 1} for port in ports.tolist())
        for protocol in inside.protocol[inside.protocol != ip.UDP].tolist():
            yield {_NAMES.get(protocol, f"IP protocol {protocol}"): 1}
