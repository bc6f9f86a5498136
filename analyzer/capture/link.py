"""Link layers: from the first captured byte of a packet to its network layer, for many packets at once.

Theory. Everything common ends in an EtherType followed by the network layer (Ethernet, Linux cooked), or in a byte
that says IPv4 or IPv6 (raw IP, null, loopback). So a link type is one row of a table: where the EtherType stands and
where the payload begins; VLAN tags then move both by four, in rounds, for the rows that have them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.records import RecordBlock
from analyzer.capture.store import Store

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
    """(position of the network layer in each packet, kind: IPV4, IPV6, OTHER, ODD or UNREADABLE)."""
    first = int(records.link[0])
    if bool((records.link == first).all()):
        return _of_one_link(store, first, records)
    position, kind = np.zeros(len(records), np.int64), np.zeros(len(records), np.int8)
    for link in np.unique(records.link).tolist():
        rows = np.flatnonzero(records.link == link)
        position[rows], kind[rows] = _of_one_link(store, link, records.take(rows))
    return position, kind


def _of_one_link(store: Store, link: int, records: RecordBlock) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    if link in TYPED:
        return _typed(store, records, *TYPED[link])
    if link in RAW:
        head = RAW[link]
        kind = _by_version(store.gather(records.at + head, 1))
        return np.full(len(records), head, np.int64), _short(records, head + 1, kind)
    if link in FAMILY:
        return np.full(len(records), 4, np.int64), _short(records, 4, _by_family(store.gather(records.at, 4)))
    return np.zeros(len(records), np.int64), np.full(len(records), ODD, np.int8)


def _short(records: RecordBlock, need: int, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    kind[records.captured < need] = UNREADABLE
    return kind


def _by_version(head: NDArray[np.uint8]) -> NDArray[np.int8]:
    version = head[:, 0] >> 4
    return np.where((version == IPV4) | (version == IPV6), version, OTHER).astype(np.int8)


def _by_family(head: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Family in the byte order of the capturing machine: the value is small, so it is in the first or the last byte."""
    family = np.where(head[:, 0] != 0, head[:, 0], head[:, 3])
    kind = np.where(family == INET, IPV4, np.where(np.isin(family, INET6), IPV6, OTHER))
    return kind.astype(np.int8)


def _typed(
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
