"""The bytes that carried a decrypted message: its packets, and the TLS records in them."""

from __future__ import annotations

from typing import NamedTuple

from analyzer.insight.frames import frames_of
from analyzer.session import Session
from analyzer.tls.records import find_first_record

MOST_BYTES = 4 << 20
"""Bytes of packets that are read for one message."""


class TlsCarriers(NamedTuple):
    """The bytes that carried a decrypted message. packets: whole frames, concatenated; records: their TLS records.

    The first record may have begun in an earlier packet. Then `records` begins with the first whole one, or with the
    first payload if there is none.
    """

    records: bytes
    packets: bytes


def read_carriers(session: Session, row: int) -> TlsCarriers:
    """Reads the packets of a decrypted row, the first MOST_BYTES of them. Reads the capture up to the last of them."""
    packets, payloads, size = [], [], 0
    for frame in {each.number: each for each in frames_of(session, row) if not each.again}.values():
        data = session.source.store.read_bytes(frame.at, frame.captured)
        size += len(data)
        if size > MOST_BYTES:
            break
        packets.append(data)
        if frame.tcp is not None:
            payloads.append(data[frame.tcp.head : frame.tcp.head + frame.tcp.payload])
    payload = b"".join(payloads)
    return TlsCarriers(payload[max(find_first_record(payload), 0) :], b"".join(packets))
