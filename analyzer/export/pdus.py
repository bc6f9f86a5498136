"""Writes chosen messages as packets of their own in one pcapng file, in Wireshark's format for exported PDUs.

Theory. Each packet is a list of tags (type, length, value padded to four bytes) with the dissector, the addresses, the
ports and the number of the packet that completed the message; the bytes of the message follow. So decrypted messages
can be passed on without keys. Lost bytes are left out, but the packet contains the full length of the message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet
from analyzer.columns.arrays import Ints
from analyzer.decode.content import read_messages
from analyzer.decode.rows import split_rows
from analyzer.messages.index import FROM_CLIENT
from analyzer.render.objects import Out
from analyzer.session import Analysis

LINK = 252
"""LINKTYPE_WIRESHARK_UPPER_PDU."""

_DISSECTOR, _PORT_TYPE, _SOURCE_PORT, _DESTINATION_PORT, _FRAME = 12, 24, 25, 26, 30
_ADDRESSES = {4: (20, 21), 16: (22, 23)}
"""Tags of source and destination by the bytes of an address."""

_TCP = 2
_KNOWN = frozenset({"kafka"})
"""Protocols for which Wireshark has a dissector with the same name; others use its `data` dissector."""


HEAD = encode_header([InterfaceDescription("messages", LINK)])
"""The begin of the file."""


def write(session: Analysis, rows: Ints, output: Out) -> None:
    """Writes all messages, in the order of rows, behind HEAD. Raises UserError."""
    for part in split_rows(session, rows):
        output.writelines(_encode_packets(session, part))


def _encode_packets(session: Analysis, rows: Ints) -> Iterator[bytes]:
    names = ("stream", "side", "protocol", "last", "time", "length")
    cells = zip(*(session.rows.column(name)[rows].tolist() for name in names), strict=True)
    for (stream, side, protocol, packet, time, length), message in zip(
        cells, read_messages(session, rows), strict=True
    ):
        dissector = session.engine.dissector(protocol)
        name = "data" if dissector is None or dissector.name not in _KNOWN else dissector.name
        head = _encode_tags(session, stream, side, name, packet)
        yield encode_packet(0, max(time, 0), head + message, len(head) + length)


def _encode_tags(session: Analysis, stream: int, side: int, dissector: str, packet: int) -> bytes:
    flows, cell = session.source.flows, session.engine.streams.cell
    flow, client = cell("flow", stream), max(cell("client", stream), 0)
    sender = client if side == FROM_CLIENT else 1 - client
    tags = [_encode_tag(_DISSECTOR, dissector.encode())]
    for place, end in enumerate((sender, 1 - sender)):
        address = flows.address(flow, end)
        tags.append(_encode_tag(_ADDRESSES[len(address)][place], address))
    numbers = (
        (_PORT_TYPE, _TCP),
        (_SOURCE_PORT, flows.port(flow, sender)),
        (_DESTINATION_PORT, flows.port(flow, 1 - sender)),
        (_FRAME, packet & 0xFFFFFFFF),
    )
    tags += [_encode_tag(kind, struct.pack(">I", number)) for kind, number in numbers]
    return b"".join((*tags, bytes(4)))


def _encode_tag(kind: int, value: bytes) -> bytes:
    value += bytes(-len(value) % 4)
    return struct.pack(">HH", kind, len(value)) + value
