"""Unusual encapsulations through scapy's layers: where the innermost IP packet begins.

Theory. Scapy knows hundreds of layers and is a hundred times slower than the columns. So it is imported only when
such a packet occurs, and with the layers that it needs; it answers one question, and what the IP packet holds is read
by our own code, from the same bytes in the capture.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scapy.packet import Packet

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
    """Scapy has no layer for the link type, or stumbled over the packet."""


def find_innermost_ip(data: bytes, link: int) -> int:
    """The offset in `data` of the innermost IP header; 0 when there is none, or none behind the first byte.

    `data`: the beginning of a packet of LINKTYPE `link`. Raises Unreadable.
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
            # Exactly these: the packets quoted in ICMP errors have classes derived from them.
            if type(layer) in (IP, IPv6) and offset < len(data) and data[offset] >> 4 == layer.version:
                found = offset
            offset += len(layer.raw_packet_cache)
            layer = layer.payload
    except Exception as error:
        raise UnreadablePacket(f"scapy cannot read a packet of link type {link} ({error!r})") from error
    return found


@cache
def find_link_class(link: int) -> type[Packet] | None:
    """Scapy's layer for a LINKTYPE; None when it has none. Imports the layers on the first call."""
    logging.getLogger("scapy").setLevel(logging.ERROR)
    for module in ("scapy.layers.l2", "scapy.layers.inet", "scapy.layers.inet6", *TUNNELS):
        import_module(module)
    if link in LINKS:
        import_module(LINKS[link])
    from scapy.config import conf

    found: type[Packet] | None = conf.l2types.num2layer.get(link)
    return found
