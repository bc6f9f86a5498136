"""The usual packet, read in one go: TCP in IPv4 without options, behind a link layer of fixed length.

Theory. Nearly every packet of a broker's capture has its fields at the same places. So one gather brings all headers
of a chunk, and columns are views of it. What is in any way different (a VLAN tag, an option, a fragment, a cut or
contradicting header) is left to the plain road, decode.py, which reads these packets alike: link.py, ip.py, tcp.py.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.link import TYPED
from analyzer.capture.records import RecordBlock
from analyzer.capture.store import Store
from analyzer.capture.tcp import NEEDED, TcpSegments

IP_HEADER = 20
IPV4_TYPE, IPV4_PLAIN, TCP = 0x0800, 0x45, 6
FRAGMENT = 0x3FFF
"""Of the IPv4 header's flags and offset: more fragments, or not the first."""

FIELDS: dict[str, tuple[int, str]] = {
    "version": (0, "u1"),
    "total": (2, ">u2"),
    "cut": (6, ">u2"),
    "protocol": (9, "u1"),
    "source": (12, ">u4"),
    "destination": (16, ">u4"),
    "from": (20, ">u2"),
    "to": (22, ">u2"),
    "seq": (24, ">u4"),
    "ack": (28, ">u4"),
    "size": (32, "u1"),
    "flags": (33, "u1"),
}
"""Of an IPv4 header without options and the TCP header behind it: offset and type."""


@cache
def _layout(type_at: int, payload: int) -> np.dtype[np.void]:
    """From the EtherType on."""
    ahead = payload - type_at
    names, places = list(FIELDS), list(FIELDS.values())
    return np.dtype(
        {
            "names": ["type", *names],
            "formats": [">u2", *(kind for _, kind in places)],
            "offsets": [0, *(ahead + offset for offset, _ in places)],
            "itemsize": ahead + IP_HEADER + NEEDED,
        }
    )


def read_usual_segments(store: Store, records: RecordBlock) -> tuple[TcpSegments, NDArray[np.bool_]] | None:
    """The usual packets of `records` (n, at least one) as segments, and which they are (n); None: not these links.

    FastPath: Decoder without it; tests/analyzer/capture/test_usual.py holds the two equal.
    """
    link = int(records.link[0])
    if link not in TYPED or not bool((records.link == link).all()):
        return None
    type_at, payload = TYPED[link]
    layout = _layout(type_at, payload)
    head = store.gather(records.at + type_at, layout.itemsize).view(layout)[:, 0]
    ahead = payload + IP_HEADER
    size = (head["size"] >> 4 << 2).astype(np.int32)
    inside = head["total"].astype(np.int32) - IP_HEADER
    captured = np.minimum(records.captured - ahead, inside).astype(np.int32)
    usual = (head["type"] == IPV4_TYPE) & (head["version"] == IPV4_PLAIN) & (head["protocol"] == TCP)
    usual &= (head["cut"] & FRAGMENT) == 0
    usual &= (captured >= NEEDED) & (size >= 20) & (inside >= size)
    rows = np.arange(len(records)) if bool(usual.all()) else np.flatnonzero(usual)
    if len(rows) < len(records):
        head, size, inside, captured, at = head[rows], size[rows], inside[rows], captured[rows], records.at[rows]
    else:
        at = records.at
    segments = TcpSegments(
        rows,
        head["source"].astype(np.uint64) << np.uint64(16) | head["from"],
        head["destination"].astype(np.uint64) << np.uint64(16) | head["to"],
        head["seq"].astype(np.uint32),
        head["ack"].astype(np.uint32),
        head["flags"].copy(),
        at + ahead + size,
        inside - size,
        np.maximum(captured - size, 0),
    )
    return segments, usual
